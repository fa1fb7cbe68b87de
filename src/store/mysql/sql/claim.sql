-- One wish to hold a lock; repeating it changes nothing.
-- Returns one row: what, epoch, counter, contended, slots, and unless it is granted: wait (us), ahead (-1: not known), host, pid,
-- label (of a holder; host NULL: none), shut (us of lock-delay), permits, taken, delayed. what: granted, waiting, lost (the
-- session), gone (the claim), other (another lock's claim), permits (with the number that was agreed on), more (the dead have left
-- too much behind for one call: ask again at once).
CREATE PROCEDURE pawl_claim(
  IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB, IN p_shared TINYINT,
  IN p_wanted INT UNSIGNED, IN p_of INT UNSIGNED, IN p_lease BIGINT, IN p_delay BIGINT, IN p_may_queue TINYINT,
  IN p_label BLOB, IN p_value BLOB)
BEGIN
  DECLARE v_what VARBINARY(16) DEFAULT '';
  DECLARE v_session, v_holder VARBINARY(32);
  DECLARE v_lock VARBINARY(255);
  DECLARE v_state, v_fits, v_lives, v_buried TINYINT;
  DECLARE v_ended TINYINT DEFAULT 0;
  DECLARE v_agreed INT UNSIGNED;
  DECLARE v_epoch, v_counter BIGINT UNSIGNED DEFAULT 0;
  DECLARE v_contended TINYINT DEFAULT 0;
  DECLARE v_slots MEDIUMBLOB DEFAULT '';
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF @pawl_left THEN
    CALL pawl_mark(p_session, v_ended);
  END IF;
  IF NOT v_ended AND LOCATE('/mutex:', p_lock) > 0 THEN
    -- The short way: a mutex that is not in use. No other table is opened than those.
    SELECT t.claim IS NULL INTO v_lives
      FROM pawl_session s LEFT JOIN pawl_tombstone t ON t.session = p_session AND t.claim = p_claim WHERE s.id = p_session;
    IF v_lives THEN
      INSERT IGNORE INTO pawl_lock VALUES (p_lock, p_name, 0, 0, '');
      IF ROW_COUNT() = 1 THEN
        SET v_epoch = @pawl_epoch, v_counter = @pawl_counter + 2;
        INSERT IGNORE INTO pawl_claim VALUES (p_claim, p_session, p_lock, 1, 0, 0, p_delay, @pawl_now, NULL, v_counter - 1,
                                              v_epoch, v_counter, 0, '', p_label, p_value);
        IF ROW_COUNT() = 1 THEN
          SET v_what = 'granted', @pawl_counter = v_counter;
        ELSE
          DELETE FROM pawl_lock WHERE id = p_lock;
        END IF;
      END IF;
    END IF;
  END IF;
  IF v_what = '' THEN
    SELECT s.id IS NOT NULL AND NOT v_ended, t.claim IS NOT NULL, c.session, c.lock_id, c.state, l.permits
      INTO v_lives, v_buried, v_session, v_lock, v_state, v_agreed
      FROM (SELECT 1) one LEFT JOIN pawl_session s ON s.id = p_session
        LEFT JOIN pawl_tombstone t ON t.session = p_session AND t.claim = p_claim
        LEFT JOIN pawl_claim c ON c.id = p_claim LEFT JOIN pawl_lock l ON l.id = p_lock;
  END IF;
  IF v_what <> '' THEN
    SET v_slots = '';
  ELSEIF NOT v_lives THEN
    SET v_what = 'lost';
  ELSEIF v_buried THEN
    SET v_what = 'gone';
  ELSEIF v_session <> p_session OR v_lock <> p_lock THEN
    SET v_what = 'other';
  ELSEIF v_session IS NULL THEN
    IF v_agreed IS NOT NULL AND @pawl_left THEN
      CALL pawl_sweep_lock(p_lock);
      SET v_agreed = (SELECT permits FROM pawl_lock WHERE id = p_lock);
    END IF;
    IF v_agreed IS NULL THEN
      SET v_fits = 1;
    ELSEIF v_agreed <> p_of THEN
      SET v_what = 'permits';
    ELSEIF EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0) THEN
      SET v_fits = 0;
    ELSE
      CALL pawl_fits(p_lock, p_shared, p_wanted, v_fits);
    END IF;
    IF v_what = '' AND NOT v_fits AND @pawl_budget <= 0 THEN
      SET v_what = 'more';
    ELSEIF v_what = '' AND (v_fits OR p_may_queue) THEN
      IF v_agreed IS NULL THEN
        INSERT INTO pawl_lock VALUES (p_lock, p_name, p_of, 0, REPEAT('0', p_of));
      END IF;
      IF NOT v_fits AND NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0) THEN
        CALL pawl_tell_holders(p_lock, 0);
      END IF;
      SET @pawl_counter = @pawl_counter + 1;
      INSERT INTO pawl_claim VALUES (p_claim, p_session, p_lock, 0, p_shared, p_wanted, p_delay, @pawl_now, NULL, @pawl_counter,
                                     0, 0, 0, '', p_label, p_value);
      IF v_fits THEN
        CALL pawl_grant(p_claim);
      END IF;
    END IF;
  ELSE
    DELETE FROM pawl_mail WHERE session = p_session AND claim = p_claim;
    IF v_state = 0 AND @pawl_left THEN
      CALL pawl_sweep_lock(p_lock);
    END IF;
  END IF;

  IF v_what = '' THEN
    SET v_state = NULL;
    SELECT state, epoch, counter, slots INTO v_state, v_epoch, v_counter, v_slots FROM pawl_claim WHERE id = p_claim;
    IF v_state = 1 THEN
      SET v_what = 'granted';
      SET v_contended = EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0);
    ELSE
      SET v_what = IF(@pawl_budget <= 0, 'more', 'waiting');
    END IF;
  END IF;
  CALL pawl_exit();
  IF v_what = 'granted' THEN
    SELECT v_what, v_epoch, v_counter, v_contended, v_slots;
  ELSE
    CALL pawl_queue_answer(v_what, p_claim, p_lock, p_shared, p_wanted, COALESCE(v_agreed, p_of), p_lease);
  END IF;
END
