-- Grants what has become free, first come, first served (the queue's), or tells the first waiter to try; dead waiters are passed.
-- Goes on telling the holders that others wait. Forgets a lock that is not in use. What is left when @pawl_budget is used up is
-- noted in pawl_unsettled, and the head of the queue is asked to come and go on.
CREATE PROCEDURE pawl_settle(IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_shared, v_fits, v_ended TINYINT;
  DECLARE v_more TINYINT DEFAULT 0;
  DECLARE v_wanted BIGINT;
  DECLARE v_ends BIGINT;
  DECLARE v_told BIGINT UNSIGNED;
  DECLARE v_ticket BIGINT UNSIGNED DEFAULT 0;  -- so none passes again what was deleted before it
  DECLARE v_scheme VARBINARY(255) DEFAULT SUBSTRING_INDEX(p_lock, '/', 1);
  DECLARE v_takes TINYINT DEFAULT v_scheme LIKE '%~%';  -- each claim takes such a lock by itself
  waiters: WHILE NOT v_takes OR v_scheme LIKE '%~unique' DO
    IF v_takes AND EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 1) THEN
      LEAVE waiters;
    END IF;
    SET v_claim = NULL, v_ended = 0;
    SELECT c.id, c.session, c.shared, c.wanted, c.ticket, COALESCE(s.ends, @pawl_now)
      INTO v_claim, v_session, v_shared, v_wanted, v_ticket, v_ends
      FROM pawl_claim c LEFT JOIN pawl_session s ON s.id = c.session
      WHERE c.lock_id = p_lock AND c.state = 0 AND c.ticket > v_ticket ORDER BY c.ticket LIMIT 1;
    IF v_claim IS NULL THEN
      LEAVE waiters;
    END IF;
    IF @pawl_budget <= 0 THEN
      SET v_more = 1;
      CALL pawl_tell(v_claim, v_session, 'again', 0, 0);
      LEAVE waiters;
    END IF;
    IF v_ends <= @pawl_now THEN
      CALL pawl_mark(v_session, v_ended);
    END IF;
    IF v_ended THEN
      CALL pawl_drop(v_claim);
    ELSEIF v_takes THEN
      CALL pawl_tell(v_claim, v_session, 'again', 0, 0);
      LEAVE waiters;
    ELSE
      CALL pawl_fits(p_lock, v_shared, v_wanted, v_fits);
      IF NOT v_fits THEN
        -- It waited for a holder that has gone: now it waits for the time.
        IF EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 2) THEN
          CALL pawl_tell(v_claim, v_session, 'again', 0, 0);
        END IF;
        LEAVE waiters;
      END IF;
      CALL pawl_grant(v_claim);
      -- A notice has no room for slots.
      CALL pawl_tell(v_claim, v_session, IF(v_wanted > 0, 'again', 'granted'), @pawl_counter,
                     EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0 AND ticket > v_ticket));
    END IF;
    SET @pawl_budget = @pawl_budget - 1 - v_wanted DIV 20;
  END WHILE;
  IF LOCATE('/rw:', p_lock) > 0 OR LOCATE('/semaphore:', p_lock) > 0 THEN
    SET v_told = (SELECT ticket FROM pawl_untold WHERE lock_id = p_lock);
    IF v_told IS NOT NULL THEN
      CALL pawl_tell_holders(p_lock, v_told);
      SET v_more = v_more OR @pawl_budget <= 0;
    END IF;
  END IF;
  IF v_more THEN
    INSERT IGNORE INTO pawl_unsettled VALUES (p_lock);
  ELSE
    DELETE FROM pawl_unsettled WHERE lock_id = p_lock;
    IF NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock) THEN
      DELETE FROM pawl_lock WHERE id = p_lock;
      DELETE FROM pawl_version WHERE lock_name = p_lock;
    END IF;
  END IF;
END
