-- One wish to hold a lock; repeating it changes nothing.
-- Returns one row: what, epoch, counter, contended, slots, and unless it is granted: wait (us), ahead (-1: not known), host, pid,
-- label (of a holder; host NULL: none), shut (us of lock-delay), permits, taken, delayed. what: granted, waiting, lost (the
-- session), gone (the claim), other (another lock's claim), permits (with the number that was agreed on).
CREATE PROCEDURE pawl_claim(
  IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB, IN p_shared TINYINT,
  IN p_wanted INT UNSIGNED, IN p_of INT UNSIGNED, IN p_lease BIGINT, IN p_delay BIGINT, IN p_may_queue TINYINT,
  IN p_label BLOB, IN p_value BLOB)
BEGIN
  DECLARE v_what VARBINARY(16) DEFAULT '';
  DECLARE v_session, v_holder VARBINARY(32);
  DECLARE v_lock VARBINARY(255);
  DECLARE v_state, v_fits, v_lives, v_buried TINYINT;
  DECLARE v_agreed, v_used INT UNSIGNED;
  DECLARE v_epoch, v_counter, v_ticket BIGINT UNSIGNED DEFAULT 0;
  DECLARE v_contended TINYINT DEFAULT 0;
  DECLARE v_slots MEDIUMBLOB DEFAULT '';
  DECLARE v_wait, v_end, v_ahead, v_shut, v_delayed BIGINT DEFAULT 0;
  DECLARE v_host, v_label BLOB;
  DECLARE v_pid BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF LOCATE('/mutex:', p_lock) > 0 THEN
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
    SELECT s.id IS NOT NULL, t.claim IS NOT NULL, c.session, c.lock_id, c.state, l.permits
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
    IF v_agreed IS NOT NULL AND EXISTS (SELECT 1 FROM pawl_unsettled WHERE lock_id = p_lock) THEN
      CALL pawl_settle(p_lock);
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
    IF v_what = '' AND (v_fits OR p_may_queue) THEN
      IF v_agreed IS NULL THEN
        INSERT INTO pawl_lock VALUES (p_lock, p_name, p_of, 0, REPEAT('0', p_of));
      END IF;
      IF NOT v_fits AND NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0) THEN
        CALL pawl_tell_holders(p_lock);
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
    IF v_state = 0 AND EXISTS (SELECT 1 FROM pawl_unsettled WHERE lock_id = p_lock) THEN
      CALL pawl_settle(p_lock);
    END IF;
  END IF;

  IF v_what = '' THEN
    SET v_state = NULL;
    SELECT state, epoch, counter, slots, ticket INTO v_state, v_epoch, v_counter, v_slots, v_ticket
      FROM pawl_claim WHERE id = p_claim;
    IF v_state = 1 THEN
      SET v_what = 'granted';
      SET v_contended = EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0);
    ELSE
      SET v_what = 'waiting', v_wait = p_lease DIV 3, v_ahead = -1;
      -- It looks again when a session can have ended: no notice is sent of that. The head of the queue looks at the
      -- holders, the others at the one before them. Who can be granted beside others looks at both.
      IF v_state = 0 THEN
        SET v_end = (SELECT s.ends FROM pawl_session s WHERE s.id =
          (SELECT c.session FROM pawl_claim c WHERE c.lock_id = p_lock AND c.state = 0 AND c.ticket < v_ticket
             ORDER BY c.ticket DESC LIMIT 1));
        SET v_ahead = (SELECT COUNT(*) FROM pawl_claim WHERE lock_id = p_lock AND state = 1)
                    + (SELECT COUNT(*) FROM pawl_claim WHERE lock_id = p_lock AND state = 0 AND ticket < v_ticket);
      ELSE
        SET v_end = NULL;
      END IF;
      IF v_end IS NOT NULL THEN
        SET v_wait = LEAST(v_wait, v_end - @pawl_now + 1000);
      END IF;
      IF v_end IS NULL OR p_shared OR p_wanted > 0 THEN
        SET v_end = (SELECT MIN(s.ends) FROM pawl_claim c JOIN pawl_session s ON s.id = c.session
                       WHERE c.lock_id = p_lock AND c.state = 1);
        SET v_wait = LEAST(v_wait, COALESCE(v_end - @pawl_now + 1000, v_wait));
        SET v_end = (SELECT MIN(until) FROM pawl_claim WHERE lock_id = p_lock AND state = 2);
        SET v_wait = LEAST(v_wait, COALESCE(v_end - @pawl_now + 1000, v_wait));
      END IF;
      SET v_wait = GREATEST(v_wait, 1000);
      SET v_shut = COALESCE((SELECT MAX(until) - @pawl_now FROM pawl_claim WHERE lock_id = p_lock AND state = 2), 0);
      SELECT s.host, s.pid, IF(c.label <> '', c.label, s.label) INTO v_host, v_pid, v_label
        FROM pawl_claim c JOIN pawl_session s ON s.id = c.session
        WHERE c.lock_id = p_lock AND c.state = 1 ORDER BY c.ticket LIMIT 1;
      IF p_of > 0 THEN
        SET v_delayed = COALESCE((SELECT SUM(wanted) FROM pawl_claim WHERE lock_id = p_lock AND state = 2), 0);
        SET v_used = (SELECT used FROM pawl_lock WHERE id = p_lock) - v_delayed;
      END IF;
    END IF;
  END IF;
  CALL pawl_exit();
  IF v_what = 'granted' THEN
    SELECT v_what, v_epoch, v_counter, v_contended, v_slots;
  ELSE
    SELECT v_what, v_epoch, v_counter, v_contended, v_slots, v_wait, v_ahead, v_host, v_pid, v_label, v_shut,
           COALESCE(v_agreed, p_of), v_used, v_delayed;
  END IF;
END
