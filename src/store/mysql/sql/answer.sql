-- How each claim of a lock that is taken by the claim itself is answered: the row that pawl_claim returns.
-- p_what: granted, waiting, lost, gone, other. A waiter looks again when the holder's session can have ended, and when a
-- lock-delay is over: no notice is sent of that.
CREATE PROCEDURE pawl_answer(IN p_what VARBINARY(16), IN p_claim VARBINARY(32), IN p_lock VARBINARY(255), IN p_lease BIGINT)
BEGIN
  IF p_what = 'granted' THEN
    SELECT p_what, epoch, counter, 0, '' FROM pawl_claim WHERE id = p_claim;
  ELSE
    SELECT p_what, c.epoch, c.counter, 0, '',
           GREATEST(1000, LEAST(p_lease DIV 3, COALESCE(s.ends - @pawl_now + 1000, p_lease),
                                COALESCE(h.until - @pawl_now + 1000, p_lease))),
           -1, s.host, s.pid, IF(h.label <> '', h.label, s.label), h.until - @pawl_now, 0, 0, 0
      FROM (SELECT 1) one LEFT JOIN pawl_claim c ON c.id = p_claim
        LEFT JOIN pawl_claim h ON p_what = 'waiting' AND h.lock_id = p_lock AND h.state IN (1, 2)
        LEFT JOIN pawl_session s ON s.id = h.session
      ORDER BY h.ticket LIMIT 1;
  END IF;
END
