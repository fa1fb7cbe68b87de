-- Layout 1 of pawl's tables, as the first pawl with a MySQL store made them: for the test that upgrades them.
SET SESSION sql_mode = 'STRICT_TRANS_TABLES';

CREATE TABLE IF NOT EXISTS pawl_meta (
  id TINYINT NOT NULL PRIMARY KEY,
  layout INT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  identity VARBINARY(512) NOT NULL,
  started BIGINT NOT NULL,
  store VARBINARY(16) NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  clock BIGINT NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_session (
  id VARBINARY(32) NOT NULL PRIMARY KEY,
  lease BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  mailbox VARBINARY(32) NOT NULL,
  host BLOB NOT NULL,
  pid BIGINT NOT NULL,
  label BLOB NOT NULL,
  KEY by_end (ends)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_lock (
  id VARBINARY(255) NOT NULL PRIMARY KEY,
  name BLOB NOT NULL,
  permits INT UNSIGNED NOT NULL,
  used INT UNSIGNED NOT NULL,
  taken MEDIUMBLOB NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_claim (
  id VARBINARY(32) NOT NULL PRIMARY KEY,
  session VARBINARY(32) NOT NULL,
  lock_id VARBINARY(255) NOT NULL,
  state TINYINT NOT NULL,
  shared TINYINT NOT NULL,
  wanted INT UNSIGNED NOT NULL,
  delay BIGINT NOT NULL,
  since BIGINT NOT NULL,
  until BIGINT NULL,
  ticket BIGINT UNSIGNED NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  asked TINYINT NOT NULL,
  slots MEDIUMBLOB NOT NULL,
  label BLOB NOT NULL,
  value BLOB NOT NULL,
  KEY by_lock (lock_id, state, ticket),
  KEY by_session (session),
  KEY by_end (until)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_tombstone (
  session VARBINARY(32) NOT NULL,
  claim VARBINARY(32) NOT NULL,
  PRIMARY KEY (session, claim)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_mail (
  seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  mailbox VARBINARY(32) NOT NULL,
  session VARBINARY(32) NOT NULL,
  claim VARBINARY(32) NOT NULL,
  what VARBINARY(16) NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  contended TINYINT NOT NULL,
  KEY by_mailbox (mailbox, seq),
  KEY by_claim (session, claim)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_reign (
  lock_id VARBINARY(255) NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  since BIGINT NOT NULL,
  till BIGINT NOT NULL,
  host BLOB NOT NULL,
  pid BIGINT NOT NULL,
  label BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (lock_id, epoch, counter),
  KEY by_end (till)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS pawl_unsettled (
  lock_id VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;
DELIMITER //
CREATE PROCEDURE pawl_exit()
BEGIN
  DECLARE v_mailbox VARBINARY(32);
  DECLARE v_listener BIGINT UNSIGNED;
  UPDATE pawl_meta SET counter = @pawl_counter, clock = @pawl_now WHERE id = 1;
  COMMIT;
  WHILE @pawl_wake <> '' DO
    SET v_mailbox = SUBSTRING(@pawl_wake, 1, 32);
    SET @pawl_wake = SUBSTRING(@pawl_wake, 34);
    BEGIN
      DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;  -- it is only a hint
      SET v_listener = IS_USED_LOCK(CONCAT('pawl.', CONVERT(v_mailbox USING ascii)));
      IF v_listener IS NOT NULL THEN
        KILL QUERY v_listener;
      END IF;
    END;
  END WHILE;
END
//
CREATE PROCEDURE pawl_tell(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_what VARBINARY(16),
                           IN p_counter BIGINT UNSIGNED, IN p_contended TINYINT)
BEGIN
  DECLARE v_mailbox VARBINARY(32) DEFAULT (SELECT mailbox FROM pawl_session WHERE id = p_session);
  IF v_mailbox IS NOT NULL THEN
    INSERT INTO pawl_mail (mailbox, session, claim, what, epoch, counter, contended)
      VALUES (v_mailbox, p_session, p_claim, p_what, @pawl_epoch, p_counter, p_contended);
    IF LOCATE(v_mailbox, @pawl_wake) = 0 THEN
      SET @pawl_wake = CONCAT(@pawl_wake, v_mailbox, ',');
    END IF;
  END IF;
END
//
CREATE PROCEDURE pawl_fits(IN p_lock VARBINARY(255), IN p_shared TINYINT, IN p_wanted INT UNSIGNED, OUT p_fits TINYINT)
BEGIN
  IF p_wanted > 0 THEN
    SET p_fits = (SELECT permits >= used + p_wanted FROM pawl_lock WHERE id = p_lock);
  ELSEIF p_shared = 0 THEN
    SET p_fits = NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state IN (1, 2));
  ELSE
    SET p_fits = COALESCE((SELECT shared FROM pawl_claim WHERE lock_id = p_lock AND state = 1 ORDER BY ticket LIMIT 1), 1)
      AND NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 2 AND shared = 0);
  END IF;
  SET p_fits = COALESCE(p_fits, 1);
END
//
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
//
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
//
CREATE PROCEDURE pawl_settle(IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_shared, v_fits TINYINT;
  DECLARE v_wanted INT UNSIGNED;
  waiters: LOOP
    SET v_claim = NULL;
    SELECT id, session, shared, wanted INTO v_claim, v_session, v_shared, v_wanted
      FROM pawl_claim WHERE lock_id = p_lock AND state = 0 ORDER BY ticket LIMIT 1;
    IF v_claim IS NULL THEN
      LEAVE waiters;
    END IF;
    CALL pawl_fits(p_lock, v_shared, v_wanted, v_fits);
    IF NOT v_fits THEN
      IF EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 2) THEN
        CALL pawl_tell(v_claim, v_session, 'again', 0, 0);
      END IF;
      LEAVE waiters;
    END IF;
    CALL pawl_grant(v_claim);
    CALL pawl_tell(v_claim, v_session, IF(v_wanted > 0, 'again', 'granted'), @pawl_counter,
                   EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0));
  END LOOP;
  DELETE FROM pawl_unsettled WHERE lock_id = p_lock;
  IF NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock) THEN
    DELETE FROM pawl_lock WHERE id = p_lock;
  END IF;
END
//
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
//
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
  INSERT IGNORE INTO pawl_unsettled VALUES (v_lock);
  DELETE FROM pawl_claim WHERE id = p_claim;
END
//
CREATE PROCEDURE pawl_end_session(IN p_session VARBINARY(32), IN p_at BIGINT)
BEGIN
  DECLARE v_claim VARBINARY(32);
  INSERT IGNORE INTO pawl_unsettled SELECT DISTINCT lock_id FROM pawl_claim WHERE session = p_session;
  UPDATE pawl_reign r JOIN pawl_claim c ON c.lock_id = r.lock_id AND c.epoch = r.epoch AND c.counter = r.counter
    SET r.till = p_at WHERE c.session = p_session AND c.state = 1;
  UPDATE pawl_claim SET state = 2, until = p_at + delay, session = ''
    WHERE session = p_session AND state = 1 AND delay > 0 AND p_at + delay > @pawl_now;
  permits: LOOP
    SET v_claim = (SELECT id FROM pawl_claim WHERE session = p_session AND slots <> '' LIMIT 1);
    IF v_claim IS NULL THEN
      LEAVE permits;
    END IF;
    CALL pawl_drop(v_claim);
  END LOOP;
  DELETE FROM pawl_claim WHERE session = p_session;
  DELETE FROM pawl_mail WHERE session = p_session;
  DELETE FROM pawl_tombstone WHERE session = p_session;
  DELETE FROM pawl_session WHERE id = p_session;
END
//
CREATE PROCEDURE pawl_sweep()
BEGIN
  DECLARE v_id VARBINARY(32);
  DECLARE v_ends BIGINT;
  sessions: LOOP
    SET v_id = (SELECT id FROM pawl_session WHERE ends <= @pawl_now ORDER BY ends LIMIT 1);
    IF v_id IS NULL THEN
      LEAVE sessions;
    END IF;
    SELECT ends INTO v_ends FROM pawl_session WHERE id = v_id FOR UPDATE;
    IF v_ends <= @pawl_now THEN
      CALL pawl_end_session(v_id, v_ends);
    END IF;
  END LOOP;
  delays: LOOP
    SET v_id = (SELECT id FROM pawl_claim WHERE until <= @pawl_now ORDER BY until LIMIT 1);
    IF v_id IS NULL THEN
      LEAVE delays;
    END IF;
    CALL pawl_drop(v_id);
  END LOOP;
  CALL pawl_settle_some();
END
//
CREATE PROCEDURE pawl_enter()
BEGIN
  DECLARE v_clock BIGINT;
  START TRANSACTION;
  SELECT epoch, counter, clock INTO @pawl_epoch, @pawl_counter, v_clock FROM pawl_meta WHERE id = 1 FOR UPDATE;
  SET @pawl_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  SET @pawl_wake = '';
  IF @pawl_now < v_clock THEN
    UPDATE pawl_session SET ends = @pawl_now + lease WHERE ends > @pawl_now + lease;
    UPDATE pawl_claim SET until = @pawl_now + delay WHERE until > @pawl_now + delay;
  END IF;
  IF EXISTS (SELECT 1 FROM pawl_session WHERE ends <= @pawl_now) OR EXISTS (SELECT 1 FROM pawl_claim WHERE until <= @pawl_now)
     OR EXISTS (SELECT 1 FROM pawl_unsettled) THEN
    CALL pawl_sweep();
  END IF;
END
//
CREATE PROCEDURE pawl_leave(IN p_claim VARBINARY(32), IN p_failed BIGINT)
BEGIN
  DECLARE v_lock VARBINARY(255);
  DECLARE v_next, v_session VARBINARY(32);
  DECLARE v_state TINYINT;
  DECLARE v_delay BIGINT;
  DECLARE v_ticket BIGINT UNSIGNED;
  SELECT lock_id, state, delay, ticket INTO v_lock, v_state, v_delay, v_ticket FROM pawl_claim WHERE id = p_claim;
  IF v_state = 1 AND LOCATE('/election:', v_lock) > 0 THEN
    UPDATE pawl_reign SET till = COALESCE(p_failed, @pawl_now) WHERE lock_id = v_lock AND till = 0;
  END IF;
  IF v_state = 0 THEN
    SELECT id, session INTO v_next, v_session FROM pawl_claim
      WHERE lock_id = v_lock AND state = 0 AND ticket > v_ticket ORDER BY ticket LIMIT 1;
    IF v_next IS NOT NULL THEN
      CALL pawl_tell(v_next, v_session, 'again', 0, 0);
    END IF;
  END IF;
  IF v_state = 1 AND v_delay > 0 AND p_failed + v_delay > @pawl_now THEN
    UPDATE pawl_claim SET state = 2, until = p_failed + v_delay, session = '' WHERE id = p_claim;
    INSERT IGNORE INTO pawl_unsettled VALUES (v_lock);
  ELSE
    CALL pawl_drop(p_claim);
  END IF;
END
//
CREATE PROCEDURE pawl_tell_holders(IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_ticket BIGINT UNSIGNED DEFAULT 0;
  holders: LOOP
    SET v_claim = NULL;
    SELECT id, session, ticket INTO v_claim, v_session, v_ticket FROM pawl_claim
      WHERE lock_id = p_lock AND state = 1 AND ticket > v_ticket ORDER BY ticket LIMIT 1;
    IF v_claim IS NULL THEN
      LEAVE holders;
    END IF;
    CALL pawl_tell(v_claim, v_session, 'contended', 0, 1);
  END LOOP;
END
//
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
  SELECT s.id IS NOT NULL, t.claim IS NOT NULL, c.session, c.lock_id, c.state, l.permits
    INTO v_lives, v_buried, v_session, v_lock, v_state, v_agreed
    FROM (SELECT 1) one LEFT JOIN pawl_session s ON s.id = p_session
      LEFT JOIN pawl_tombstone t ON t.session = p_session AND t.claim = p_claim
      LEFT JOIN pawl_claim c ON c.id = p_claim LEFT JOIN pawl_lock l ON l.id = p_lock;
  IF NOT v_lives THEN
    SET v_what = 'lost';
  ELSEIF v_buried THEN
    SET v_what = 'gone';
  ELSEIF v_session <> p_session OR v_lock <> p_lock THEN
    SET v_what = 'other';
  ELSEIF v_session IS NULL AND v_agreed IS NULL AND LOCATE('/mutex:', p_lock) > 0 THEN
    SET @pawl_counter = @pawl_counter + 2;
    SET v_what = 'granted', v_epoch = @pawl_epoch, v_counter = @pawl_counter;
    INSERT INTO pawl_lock VALUES (p_lock, p_name, 0, 0, '');
    INSERT INTO pawl_claim VALUES (p_claim, p_session, p_lock, 1, 0, 0, p_delay, @pawl_now, NULL, v_counter - 1,
                                   v_epoch, v_counter, 0, '', p_label, p_value);
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
  SELECT v_what, v_epoch, v_counter, v_contended, v_slots, v_wait, v_ahead, v_host, v_pid, v_label, v_shut,
         COALESCE(v_agreed, p_of), v_used, v_delayed;
END
//
CREATE PROCEDURE pawl_withdraw(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255),
                               IN p_failed TINYINT, IN p_unsettled TINYINT)
BEGIN
  DECLARE v_done TINYINT DEFAULT 0;
  DECLARE v_state TINYINT;
  DECLARE v_simple TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF p_unsettled AND EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session) THEN
    INSERT IGNORE INTO pawl_tombstone VALUES (p_session, p_claim);
  END IF;
  DELETE FROM pawl_mail WHERE session = p_session AND claim = p_claim;
  SELECT state, LOCATE('/mutex:', p_lock) > 0 AND NOT p_failed INTO v_state, v_simple
    FROM pawl_claim WHERE id = p_claim AND session = p_session AND lock_id = p_lock;
  SET v_done = v_state IS NOT NULL;
  IF v_state = 1 AND v_simple AND NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND id <> p_claim) THEN
    DELETE FROM pawl_claim WHERE id = p_claim;
    DELETE FROM pawl_lock WHERE id = p_lock;
  ELSEIF v_done THEN
    CALL pawl_leave(p_claim, IF(p_failed, @pawl_now, NULL));
    CALL pawl_settle(p_lock);
  END IF;
  CALL pawl_exit();
  SELECT v_done;
END
//
CREATE PROCEDURE pawl_look(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255))
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  DELETE FROM pawl_mail WHERE session = p_session AND claim = p_claim;
  CALL pawl_exit();
  SELECT c.state, c.epoch, c.counter, EXISTS (SELECT 1 FROM pawl_claim w WHERE w.lock_id = p_lock AND w.state = 0),
         c.asked, c.slots
    FROM (SELECT 1) one LEFT JOIN pawl_claim c ON c.id = p_claim AND c.session = p_session AND c.lock_id = p_lock;
END
//
CREATE PROCEDURE pawl_downgrade(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_done TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  SET v_done = EXISTS (SELECT 1 FROM pawl_claim WHERE id = p_claim AND session = p_session AND lock_id = p_lock AND state = 1);
  IF v_done THEN
    UPDATE pawl_claim SET shared = 1 WHERE id = p_claim;
    CALL pawl_settle(p_lock);
  END IF;
  CALL pawl_exit();
  SELECT v_done;
END
//
CREATE PROCEDURE pawl_relabel(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_label BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  UPDATE pawl_claim SET label = p_label WHERE id = p_claim AND session = p_session AND lock_id = p_lock;
  CALL pawl_exit();
  SELECT 1;
END
//
CREATE PROCEDURE pawl_revoke(IN p_claim VARBINARY(32), IN p_lock VARBINARY(255), IN p_now TINYINT)
BEGIN
  DECLARE v_session VARBINARY(32);
  DECLARE v_state TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  SELECT session, state INTO v_session, v_state FROM pawl_claim WHERE id = p_claim AND lock_id = p_lock AND session <> '';
  IF v_session IS NOT NULL AND p_now THEN
    INSERT IGNORE INTO pawl_tombstone VALUES (v_session, p_claim);
    CALL pawl_tell(p_claim, v_session, 'gone', 0, 0);
    CALL pawl_leave(p_claim, NULL);
    CALL pawl_settle(p_lock);
  ELSEIF v_state = 1 THEN
    UPDATE pawl_claim SET asked = 1 WHERE id = p_claim;
    CALL pawl_tell(p_claim, v_session, 'asked', 0, 0);
  ELSE
    SET v_session = NULL;
  END IF;
  CALL pawl_exit();
  SELECT v_session IS NOT NULL;
END
//
CREATE PROCEDURE pawl_open_session(IN p_session VARBINARY(32), IN p_lease BIGINT, IN p_mailbox VARBINARY(32), IN p_host BLOB,
                                   IN p_pid BIGINT, IN p_label BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  INSERT INTO pawl_session VALUES (p_session, p_lease, @pawl_now + p_lease, p_mailbox, p_host, p_pid, p_label);
  DELETE FROM pawl_reign WHERE till BETWEEN 1 AND @pawl_now - 60000000
    AND NOT EXISTS (SELECT 1 FROM pawl_claim c WHERE c.lock_id = pawl_reign.lock_id AND c.state = 1);
  CALL pawl_exit();
  SELECT 1;
END
//
CREATE PROCEDURE pawl_renew(IN p_session VARBINARY(32))
BEGIN
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE v_lives TINYINT;
  UPDATE pawl_session SET ends = v_now + lease WHERE id = p_session AND ends > v_now;
  SET v_lives = EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session AND ends > v_now);
  SELECT v_lives, m.claim, m.seq
    FROM (SELECT 1) one LEFT JOIN
         (SELECT claim, MAX(seq) AS seq FROM pawl_mail WHERE session = p_session GROUP BY claim LIMIT 1001) m ON TRUE;
END
//
CREATE PROCEDURE pawl_close_session(IN p_session VARBINARY(32))
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session FOR UPDATE) THEN
    CALL pawl_end_session(p_session, @pawl_now);
    CALL pawl_settle_some();
  END IF;
  CALL pawl_exit();
  SELECT 1;
END
//
CREATE PROCEDURE pawl_inspect(IN p_lock VARBINARY(255), IN p_start VARBINARY(255), IN p_prefix BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_exit();
  SELECT l.id, l.name, l.permits, c.state, @pawl_now, c.id, c.shared, s.host, s.pid, IF(c.label <> '', c.label, s.label),
         c.since, c.epoch, c.counter, c.slots, c.wanted, c.value, s.ends, c.asked, c.until
    FROM pawl_lock l JOIN pawl_claim c ON c.lock_id = l.id LEFT JOIN pawl_session s ON s.id = c.session
    WHERE l.id = p_lock
       OR (p_lock = '' AND LEFT(l.id, LENGTH(p_start)) = p_start AND LEFT(l.name, LENGTH(p_prefix)) = p_prefix)
    ORDER BY l.id, FIELD(c.state, 1, 0, 2), c.ticket;
END
//
CREATE PROCEDURE pawl_succession(IN p_lock VARBINARY(255))
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_exit();
  SELECT @pawl_now, NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 1),
         r.epoch, r.counter, r.since, r.till, r.host, r.pid, r.label, r.value
    FROM (SELECT 1) one LEFT JOIN pawl_reign r ON r.lock_id = p_lock ORDER BY r.epoch, r.counter;
END
//
CREATE PROCEDURE pawl_check(IN p_lock VARBINARY(255), IN p_epoch BIGINT UNSIGNED, IN p_counter BIGINT UNSIGNED)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_exit();
  SELECT EXISTS (SELECT 1 FROM pawl_claim
                   WHERE lock_id = p_lock AND state = 1 AND epoch = p_epoch AND counter = p_counter);
END
//
CREATE PROCEDURE pawl_session_claims(IN p_session VARBINARY(32))
BEGIN
  SELECT id, lock_id FROM pawl_claim WHERE session = p_session;
END
//
CREATE PROCEDURE pawl_begin(IN p_identity VARBINARY(512), IN p_started BIGINT, IN p_store VARBINARY(16), IN p_raise TINYINT,
                            IN p_known BIGINT UNSIGNED)
BEGIN
  DECLARE v_layout INT;
  DECLARE v_epoch BIGINT UNSIGNED;
  DECLARE v_store VARBINARY(16);
  DECLARE v_identity VARBINARY(512);
  DECLARE v_started BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  INSERT IGNORE INTO pawl_meta VALUES (1, 1, 0, '', 0, p_store, 0, 0);
  START TRANSACTION;
  SELECT layout, epoch, store, identity, started INTO v_layout, v_epoch, v_store, v_identity, v_started
    FROM pawl_meta WHERE id = 1 FOR UPDATE;
  IF v_layout = 1 AND (v_epoch = 0 OR v_identity <> p_identity OR ABS(v_started - p_started) > 2 OR v_epoch < p_known OR p_raise)
  THEN
    SET v_epoch = GREATEST(v_epoch + 1, p_known + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);
    UPDATE pawl_meta SET epoch = v_epoch, identity = p_identity, started = p_started WHERE id = 1;
  END IF;
  COMMIT;
  SELECT v_layout, v_epoch, v_store;
END
//
DELIMITER ;
