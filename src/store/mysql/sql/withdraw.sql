-- Releases, or leaves the queue. Compares claim, session and lock; nothing else is touched.
-- p_unsettled: it may still arrive, and must be refused then. Returns done: 1, or 0 (it was not there).
CREATE PROCEDURE pawl_withdraw(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255),
                               IN p_failed TINYINT, IN p_unsettled TINYINT)
BEGIN
  DECLARE v_done TINYINT DEFAULT 0;
  DECLARE v_state TINYINT;
  DECLARE v_simple TINYINT;
  DECLARE v_ended TINYINT DEFAULT 0;
  DECLARE v_mail TINYINT DEFAULT 1;  -- unless it is known that there is none
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF @pawl_left THEN
    CALL pawl_mark(p_session, v_ended);
  END IF;
  IF p_unsettled AND NOT v_ended AND EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session) THEN
    INSERT IGNORE INTO pawl_tombstone VALUES (p_session, p_claim);
  END IF;
  SELECT c.state, LOCATE('/mutex:', p_lock) > 0 AND NOT p_failed AND SUBSTRING_INDEX(p_lock, '/', 1) NOT LIKE '%~%'
           AND NOT EXISTS (SELECT 1 FROM pawl_claim o WHERE o.lock_id = p_lock AND o.id <> p_claim),
         EXISTS (SELECT 1 FROM pawl_mail m WHERE m.session = p_session AND m.claim = p_claim)
    INTO v_state, v_simple, v_mail
    FROM pawl_claim c WHERE c.id = p_claim AND c.session = p_session AND c.lock_id = p_lock;
  IF v_mail THEN
    DELETE FROM pawl_mail WHERE session = p_session AND claim = p_claim;
  END IF;
  -- What a session leaves behind that has ended is not its own any more.
  SET v_done = v_state IS NOT NULL AND NOT v_ended;
  IF v_done AND v_state = 1 AND v_simple THEN
    -- The short way: a mutex that stays with nobody.
    DELETE FROM pawl_claim WHERE id = p_claim;
    DELETE FROM pawl_lock WHERE id = p_lock;
  ELSEIF v_done THEN
    CALL pawl_leave(p_claim, IF(p_failed, @pawl_now, NULL));
    CALL pawl_settle(p_lock);
  END IF;
  CALL pawl_exit();
  SELECT v_done;
END
