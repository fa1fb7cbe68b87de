CREATE PROCEDURE pawl_relabel(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_label BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  UPDATE pawl_claim SET label = p_label WHERE id = p_claim AND session = p_session AND lock_id = p_lock;
  CALL pawl_exit();
  SELECT 1;
END
