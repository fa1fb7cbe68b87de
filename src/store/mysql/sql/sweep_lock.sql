-- Takes out of a lock what has ended, where pawl_sweep() may not have come to it yet: dead holders and lock-delays that are over, of
-- the first hundred each, and dead waiters at the head of the queue. @pawl_budget is 0 then: there may be more.
CREATE PROCEDURE pawl_sweep_lock(IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_wanted BIGINT;
  DECLARE v_ends BIGINT;
  DECLARE v_ended, v_none TINYINT;
  DECLARE dead CURSOR FOR
    SELECT h.id, h.session, h.wanted, COALESCE(s.ends, @pawl_now)
      FROM (SELECT id, session, wanted FROM pawl_claim WHERE lock_id = p_lock AND state = 1 ORDER BY ticket LIMIT 100) h
        LEFT JOIN pawl_session s ON s.id = h.session
      WHERE COALESCE(s.ends, @pawl_now) <= @pawl_now
    UNION ALL
    SELECT d.id, NULL, d.wanted, NULL
      FROM (SELECT id, wanted, until FROM pawl_claim WHERE lock_id = p_lock AND state = 2 ORDER BY ticket LIMIT 100) d
      WHERE d.until <= @pawl_now;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_none = 1;
  OPEN dead;
  claims: WHILE @pawl_budget > 0 DO
    SET v_none = 0;
    FETCH dead INTO v_claim, v_session, v_wanted, v_ends;
    IF v_none THEN
      LEAVE claims;
    END IF;
    SET @pawl_budget = @pawl_budget - 1 - v_wanted DIV 20;
    IF v_session IS NULL THEN
      CALL pawl_drop(v_claim);
    ELSE
      CALL pawl_mark(v_session, v_ended);
      IF v_ended THEN
        CALL pawl_leave(v_claim, v_ends);
      END IF;
    END IF;
  END WHILE;
  CLOSE dead;
  SET v_session = (SELECT session FROM pawl_claim WHERE lock_id = p_lock AND state = 0 ORDER BY ticket LIMIT 1);
  IF v_session IS NOT NULL THEN
    CALL pawl_mark(v_session, v_ended);
  END IF;
  IF v_ended OR EXISTS (SELECT 1 FROM pawl_unsettled WHERE lock_id = p_lock) THEN
    CALL pawl_settle(p_lock);
  END IF;
END
