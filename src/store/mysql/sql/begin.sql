-- Which store this is, and which life of it: on every new connection, before any grant. The last one to be created: where it
-- is, everything is.
-- p_identity, p_started: of the server, and when it was started (seconds since 1970, by its own uptime); p_store: the store id
-- to use where there is none; p_raise: start a new epoch in any case; p_known: the epoch that the client has seen.
-- Returns layout, epoch, store
CREATE PROCEDURE pawl_begin(IN p_identity VARBINARY(512), IN p_started BIGINT, IN p_store VARBINARY(16), IN p_raise TINYINT,
                            IN p_known BIGINT UNSIGNED)
BEGIN
  DECLARE v_layout INT;
  DECLARE v_epoch BIGINT UNSIGNED;
  DECLARE v_store VARBINARY(16);
  DECLARE v_identity VARBINARY(512);
  DECLARE v_started BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  INSERT IGNORE INTO pawl_meta VALUES (1, 3, 0, '', 0, p_store, 0, 0);
  START TRANSACTION;
  SELECT layout, epoch, store, identity, started INTO v_layout, v_epoch, v_store, v_identity, v_started
    FROM pawl_meta WHERE id = 1 FOR UPDATE;
  IF v_layout = 3 AND (v_epoch = 0 OR v_identity <> p_identity OR ABS(v_started - p_started) > 2 OR v_epoch < p_known OR p_raise)
  THEN
    SET v_epoch = GREATEST(v_epoch + 1, p_known + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);
    UPDATE pawl_meta SET epoch = v_epoch, identity = p_identity, started = p_started WHERE id = 1;
  END IF;
  COMMIT;
  -- For the transactions of callers, which keep that row locked for a while: only a new epoch waits for them.
  IF v_layout = 3 AND NOT EXISTS (SELECT 1 FROM pawl_row_epoch WHERE epoch >= v_epoch) THEN
    BEGIN
      DECLARE CONTINUE HANDLER FOR 1205 BEGIN IF p_raise THEN RESIGNAL; END IF; END;
      INSERT INTO pawl_row_epoch VALUES (1, v_epoch, v_store)
        ON DUPLICATE KEY UPDATE store = IF(epoch < v_epoch, v_store, store), epoch = GREATEST(epoch, v_epoch);
    END;
  END IF;
  COMMIT;
  SELECT v_layout, v_epoch, v_store;
END
