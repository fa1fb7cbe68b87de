-- How the queue answers a claim that it has not granted: the row that pawl_claim returns. It is read behind the commit, so that no
-- other call waits for it; what changes after the commit the claim is told. Of the holders, lock-delays and waiters a hundred each
-- are looked at.
CREATE PROCEDURE pawl_queue_answer(
  IN p_what VARBINARY(16), IN p_claim VARBINARY(32), IN p_lock VARBINARY(255), IN p_shared TINYINT, IN p_wanted INT UNSIGNED,
  IN p_permits INT UNSIGNED, IN p_lease BIGINT)
BEGIN
  DECLARE v_ticket BIGINT UNSIGNED;
  DECLARE v_used INT UNSIGNED;
  DECLARE v_wait BIGINT DEFAULT p_lease DIV 3;
  DECLARE v_ahead BIGINT DEFAULT -1;
  DECLARE v_end, v_first, v_last, v_delayed BIGINT;
  DECLARE v_host, v_label BLOB;
  DECLARE v_pid BIGINT;
  IF p_what = 'waiting' THEN
    -- It looks again when a session can have ended: no notice is sent of that. The head of the queue looks at the holders, the others
    -- at the one before them. Who can be granted beside others looks at both.
    SET v_ticket = (SELECT ticket FROM pawl_claim WHERE id = p_claim AND state = 0);
    IF v_ticket IS NOT NULL THEN
      SET v_end = (SELECT s.ends
        FROM (SELECT session, ticket FROM pawl_claim
                WHERE lock_id = p_lock AND state = 0 AND ticket < v_ticket ORDER BY ticket DESC LIMIT 100) c
          JOIN pawl_session s ON s.id = c.session AND s.ends > @pawl_now
        ORDER BY c.ticket DESC LIMIT 1);
      SET v_ahead = (SELECT COUNT(*) FROM (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 1 LIMIT 10000) h)
        + (SELECT COUNT(*) FROM (SELECT 1 FROM pawl_claim
                                   WHERE lock_id = p_lock AND state = 0 AND ticket < v_ticket LIMIT 10000) w);
      SET v_wait = LEAST(v_wait, COALESCE(v_end - @pawl_now + 1000, v_wait));
    END IF;
    IF EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state = 2) THEN
      SELECT MIN(until), MAX(until), SUM(wanted) INTO v_first, v_last, v_delayed
        FROM (SELECT until, wanted FROM pawl_claim WHERE lock_id = p_lock AND state = 2 ORDER BY ticket LIMIT 100) d;
    END IF;
    IF v_end IS NULL OR p_shared OR p_wanted > 0 THEN
      SET v_end = (SELECT MIN(s.ends)
        FROM (SELECT session FROM pawl_claim WHERE lock_id = p_lock AND state = 1 ORDER BY ticket LIMIT 100) c
          JOIN pawl_session s ON s.id = c.session AND s.ends > @pawl_now);
      SET v_wait = LEAST(v_wait, COALESCE(v_end - @pawl_now + 1000, v_wait), COALESCE(v_first - @pawl_now + 1000, v_wait));
    END IF;
    SELECT s.host, s.pid, IF(c.label <> '', c.label, s.label) INTO v_host, v_pid, v_label
      FROM pawl_claim c JOIN pawl_session s ON s.id = c.session
      WHERE c.lock_id = p_lock AND c.state = 1 ORDER BY c.ticket LIMIT 1;
    IF p_permits > 0 THEN
      SET v_used = (SELECT used FROM pawl_lock WHERE id = p_lock);
    END IF;
  END IF;
  SELECT p_what, 0, 0, 0, '', GREATEST(v_wait, 1000), v_ahead, v_host, v_pid, v_label, COALESCE(v_last - @pawl_now, 0), p_permits,
         IF(v_used > v_delayed, v_used - v_delayed, COALESCE(v_used, 0)), COALESCE(v_delayed, 0);
END
