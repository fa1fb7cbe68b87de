-- Makes the row that pawl_lock_row locks, and commits it. Notes that this connection has been here, after pawl_begin.
CREATE PROCEDURE pawl_make_row(IN p_id VARBINARY(255), IN p_name BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  IF NOT EXISTS (SELECT 1 FROM pawl_row WHERE id = p_id) THEN
    INSERT IGNORE INTO pawl_row VALUES (p_id, p_name);
  END IF;
  COMMIT;
  SET @pawl_row = 1;
END
