-- Some of the locks that claims have left; the next one who comes goes on. Those without waiters are quick.
CREATE PROCEDURE pawl_settle_some()
BEGIN
  DECLARE v_lock VARBINARY(255);
  DECLARE v_left INT DEFAULT 100;
  locks: WHILE v_left > 0 DO
    SET v_lock = (SELECT lock_id FROM pawl_unsettled LIMIT 1);
    IF v_lock IS NULL THEN
      LEAVE locks;
    END IF;
    CALL pawl_settle(v_lock);
    SET v_left = v_left - 1;
  END WHILE;
END
