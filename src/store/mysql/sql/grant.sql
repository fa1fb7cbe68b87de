-- Makes a holder of a claim. The counter is committed with it, before anybody is told.
CREATE PROCEDURE pawl_grant(IN p_claim VARBINARY(32))
BEGIN
  DECLARE v_lock VARBINARY(255);
  DECLARE v_wanted, v_left INT UNSIGNED;
  DECLARE v_slot INT;
  DECLARE v_taken, v_slots MEDIUMBLOB DEFAULT '';
  SELECT lock_id, wanted INTO v_lock, v_wanted FROM pawl_claim WHERE id = p_claim;
  IF v_wanted > 0 THEN
    SELECT taken INTO v_taken FROM pawl_lock WHERE id = v_lock;
    SET v_left = v_wanted, v_slot = 0;
    WHILE v_left > 0 DO
      SET v_slot = LOCATE('0', v_taken, v_slot + 1);
      SET v_taken = INSERT(v_taken, v_slot, 1, '1');
      SET v_slots = CONCAT(v_slots, IF(v_slots = '', '', ','), v_slot - 1);
      SET v_left = v_left - 1;
    END WHILE;
    UPDATE pawl_lock SET taken = v_taken, used = used + v_wanted WHERE id = v_lock;
  END IF;
  SET @pawl_counter = @pawl_counter + 1;
  UPDATE pawl_claim SET state = 1, epoch = @pawl_epoch, counter = @pawl_counter, since = @pawl_now, slots = v_slots
    WHERE id = p_claim;
  IF LOCATE('/election:', v_lock) > 0 THEN
    CALL pawl_begin_reign(p_claim);
  END IF;
END
