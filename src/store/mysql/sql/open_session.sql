CREATE PROCEDURE pawl_open_session(IN p_session VARBINARY(32), IN p_lease BIGINT, IN p_mailbox VARBINARY(32), IN p_host BLOB,
                                   IN p_pid BIGINT, IN p_label BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  INSERT INTO pawl_session VALUES (p_session, p_lease, @pawl_now + p_lease, p_mailbox, p_host, p_pid, p_label);
  -- The history of elections that have had no leader for a minute.
  DELETE FROM pawl_reign WHERE till BETWEEN 1 AND @pawl_now - 60000000
    AND NOT EXISTS (SELECT 1 FROM pawl_claim c WHERE c.lock_id = pawl_reign.lock_id AND c.state = 1) LIMIT 100;
  CALL pawl_exit();
  SELECT 1;
END
