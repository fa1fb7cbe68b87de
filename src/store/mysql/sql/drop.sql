-- Takes a claim's record away, and frees what it has taken. pawl_settle_some() must follow.
CREATE PROCEDURE pawl_drop(IN p_claim VARBINARY(32))
BEGIN
  DECLARE v_lock VARBINARY(255);
  DECLARE v_slots, v_taken MEDIUMBLOB;
  DECLARE v_freed INT UNSIGNED DEFAULT 0;
  SELECT lock_id, slots INTO v_lock, v_slots FROM pawl_claim WHERE id = p_claim;
  IF v_slots <> '' THEN
    SELECT taken INTO v_taken FROM pawl_lock WHERE id = v_lock;
    WHILE v_slots <> '' DO
      SET v_taken = INSERT(v_taken, CAST(SUBSTRING_INDEX(v_slots, ',', 1) AS UNSIGNED) + 1, 1, '0');
      SET v_slots = SUBSTRING(v_slots, LENGTH(SUBSTRING_INDEX(v_slots, ',', 1)) + 2);
      SET v_freed = v_freed + 1;
    END WHILE;
    UPDATE pawl_lock SET taken = v_taken, used = used - v_freed WHERE id = v_lock;
  END IF;
  IF SUBSTRING_INDEX(v_lock, '/', 1) LIKE '%~%' THEN
    DELETE FROM pawl_unique WHERE lock_name = v_lock AND claim = p_claim;
    UPDATE pawl_version SET version = version + 1, claim = '' WHERE lock_name = v_lock AND claim = p_claim;
  END IF;
  INSERT IGNORE INTO pawl_unsettled VALUES (v_lock);
  DELETE FROM pawl_claim WHERE id = p_claim;
END
