-- Before the procedures of an older layout are replaced: refuses where that would do harm, and changes the tables. Clients
-- refuse a layout below 0: that of an upgrade which has begun. It can be repeated at any point.
CREATE PROCEDURE pawl_upgrade()
BEGIN
  DECLARE v_layout INT;
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  SELECT layout INTO v_layout FROM pawl_meta WHERE id = 1 FOR UPDATE;
  IF ABS(v_layout) > 3 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'these tables belong to a newer pawl: use that one';
  END IF;
  IF EXISTS (SELECT 1 FROM pawl_session WHERE ends > v_now) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'clients are connected: stop the programs that use these tables, or wait until their leases are over';
  END IF;
  -- From layout 1 to 3 tables were added, and none was changed.
  UPDATE pawl_meta SET layout = -layout WHERE id = 1 AND layout IN (1, 2);
  COMMIT;
END
