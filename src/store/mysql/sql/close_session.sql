-- What it still holds counts as failed.
CREATE PROCEDURE pawl_close_session(IN p_session VARBINARY(32))
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session FOR UPDATE) THEN
    CALL pawl_end_session(p_session, @pawl_now);
    CALL pawl_settle_some();
  END IF;
  CALL pawl_exit();
  SELECT 1;
END
