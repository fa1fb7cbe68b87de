-- What has become of a claim? Changes nothing, but that it has asked.
-- Returns one row: state (NULL: gone, 0: waits, 1: holds), epoch, counter, contended, asked, slots
CREATE PROCEDURE pawl_look(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_ended TINYINT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF @pawl_left THEN
    CALL pawl_mark(p_session, v_ended);
  END IF;
  DELETE FROM pawl_mail WHERE session = p_session AND claim = p_claim;
  CALL pawl_exit();
  SELECT c.state, c.epoch, c.counter, EXISTS (SELECT 1 FROM pawl_claim w WHERE w.lock_id = p_lock AND w.state = 0),
         c.asked, c.slots
    FROM (SELECT 1) one LEFT JOIN pawl_claim c ON c.id = p_claim AND c.session = p_session AND c.lock_id = p_lock
      AND NOT v_ended;
END
