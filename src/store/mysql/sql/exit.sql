-- How it ends. First all is committed, then those who were sent mail are woken. A listener has a user lock of its mailbox's
-- name, so the connection that is interrupted is never another's, also after the server was started again.
-- Returns a row 'wake', mailbox for each listener of another account than that which has made this procedure: its rights do not
-- reach so far, and its caller's may.
CREATE PROCEDURE pawl_exit()
BEGIN
  DECLARE v_mailbox VARBINARY(32);
  DECLARE v_listener BIGINT UNSIGNED;
  UPDATE pawl_meta SET counter = @pawl_counter, clock = @pawl_now WHERE id = 1;
  COMMIT;
  WHILE @pawl_wake <> '' DO
    SET v_mailbox = SUBSTRING(@pawl_wake, 1, 32);
    SET @pawl_wake = SUBSTRING(@pawl_wake, 34);
    BEGIN
      DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;  -- it is only a hint
      DECLARE CONTINUE HANDLER FOR 1095 SELECT 'wake', v_mailbox;
      SET v_listener = IS_USED_LOCK(CONCAT('pawl.', CONVERT(v_mailbox USING ascii)));
      IF v_listener IS NOT NULL THEN
        KILL QUERY v_listener;
      END IF;
    END;
  END WHILE;
END
