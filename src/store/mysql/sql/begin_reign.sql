-- The holder of an election goes into its history, which remembers the last 32.
CREATE PROCEDURE pawl_begin_reign(IN p_claim VARBINARY(32))
BEGIN
  DECLARE v_lock VARBINARY(255) DEFAULT (SELECT lock_id FROM pawl_claim WHERE id = p_claim);
  DECLARE v_more INT;
  INSERT INTO pawl_reign
    SELECT c.lock_id, c.epoch, c.counter, @pawl_now, 0, s.host, s.pid, IF(c.label <> '', c.label, s.label), c.value
      FROM pawl_claim c JOIN pawl_session s ON s.id = c.session WHERE c.id = p_claim;
  SET v_more = (SELECT COUNT(*) FROM pawl_reign WHERE lock_id = v_lock) - 32;
  WHILE v_more > 0 DO
    DELETE FROM pawl_reign WHERE lock_id = v_lock ORDER BY epoch, counter LIMIT 1;
    SET v_more = v_more - 1;
  END WHILE;
END
