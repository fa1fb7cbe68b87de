-- Locks the row of a name in the transaction of the caller, who ends it. Reads nothing without a lock, so it takes no snapshot.
-- p_wait: seconds; 0: does not wait (MySQL makes a second of it; NOWAIT is not allowed in procedures); -1: as the session says.
-- The token: InnoDB does not take back an AUTO_INCREMENT when a transaction is rolled back; a server that is killed may, and
-- begins a new epoch when it is started again.
-- Returns what, epoch, counter, store. what: locked, missing (the row), unprepared (the connection), over (the transaction).
CREATE PROCEDURE pawl_lock_row(IN p_id VARBINARY(255), IN p_wait INT)
BEGIN
  DECLARE v_id VARBINARY(255);
  DECLARE v_open TINYINT DEFAULT 1;
  DECLARE v_epoch, v_counter BIGINT UNSIGNED;
  DECLARE v_store VARBINARY(16);
  DECLARE v_last BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
  DECLARE v_wait BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SET SESSION innodb_lock_wait_timeout = v_wait; RESIGNAL; END;
  -- Where no transaction is open this does nothing, and is not found: a client that has overlooked a deadlock does not know.
  SAVEPOINT pawl_row;
  BEGIN
    DECLARE CONTINUE HANDLER FOR 1305 SET v_open = 0;
    RELEASE SAVEPOINT pawl_row;
  END;
  IF v_open THEN
    IF p_wait >= 0 THEN
      SET SESSION innodb_lock_wait_timeout = p_wait;
    END IF;
    SELECT id INTO v_id FROM pawl_row WHERE id = p_id FOR UPDATE;
    SET SESSION innodb_lock_wait_timeout = v_wait;
  END IF;
  IF v_id IS NOT NULL AND @pawl_row = 1 THEN
    SELECT epoch, store INTO v_epoch, v_store FROM pawl_row_epoch WHERE id = 1 LOCK IN SHARE MODE;
    INSERT INTO pawl_row_token VALUES (NULL);
    SET v_counter = LAST_INSERT_ID();
    DELETE FROM pawl_row_token WHERE counter = v_counter;
    DO LAST_INSERT_ID(v_last);
  END IF;
  SELECT CASE WHEN @pawl_row IS NULL THEN 'unprepared' WHEN NOT v_open THEN 'over' WHEN v_id IS NULL THEN 'missing' ELSE 'locked' END,
         v_epoch, v_counter, v_store;
END
