-- Some of the locks that claims have left; the next caller goes on.
CREATE PROCEDURE pawl_settle_some()
BEGIN
  DECLARE v_lock VARBINARY(255) DEFAULT '';
  locks: WHILE @pawl_budget > 0 DO
    SET v_lock = (SELECT lock_id FROM pawl_unsettled WHERE lock_id > v_lock ORDER BY lock_id LIMIT 1);
    IF v_lock IS NULL THEN
      LEAVE locks;
    END IF;
    CALL pawl_settle(v_lock);
    SET @pawl_budget = @pawl_budget - 1;
  END WHILE;
END
