-- Grants what has become free, first come, first served (the queue's), or tells the first waiter to try, and forgets a lock that
-- is not in use.
CREATE PROCEDURE pawl_settle(IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_shared, v_fits TINYINT;
  DECLARE v_wanted INT UNSIGNED;
  DECLARE v_scheme VARBINARY(255) DEFAULT SUBSTRING_INDEX(p_lock, '/', 1);
  IF v_scheme LIKE '%~%' THEN
    -- Each claim takes such a lock by itself.
    IF v_scheme LIKE '%~unique' AND NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 1) THEN
      SELECT id, session INTO v_claim, v_session FROM pawl_claim WHERE lock_id = p_lock AND state = 0 ORDER BY ticket LIMIT 1;
      IF v_claim IS NOT NULL THEN
        CALL pawl_tell(v_claim, v_session, 'again', 0, 0);
      END IF;
    END IF;
  ELSE
    waiters: LOOP
      SET v_claim = NULL;
      SELECT id, session, shared, wanted INTO v_claim, v_session, v_shared, v_wanted
        FROM pawl_claim WHERE lock_id = p_lock AND state = 0 ORDER BY ticket LIMIT 1;
      IF v_claim IS NULL THEN
        LEAVE waiters;
      END IF;
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
                     EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 0));
    END LOOP;
  END IF;
  DELETE FROM pawl_unsettled WHERE lock_id = p_lock;
  IF NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock) THEN
    DELETE FROM pawl_lock WHERE id = p_lock;
    DELETE FROM pawl_version WHERE lock_name = p_lock;
  END IF;
END
