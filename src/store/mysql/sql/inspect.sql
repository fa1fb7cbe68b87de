-- For people: a page of the claims of one lock (p_end ''), or of all locks from p_lock to below p_end whose names begin with p_prefix.
-- p_state, p_ticket: behind that claim of p_lock; -1, 0: from its first one.
-- Returns five hundred rows, or fewer where that was all; the next page goes on behind the last one. By lock, for each waiters (0),
-- holders (1) and lock-delays (2) in order: lock, state, ticket, name (NULL: not to be shown, as of a session that has ended),
-- permits, now, claim, shared, host, pid, label, since, epoch, counter, slots, wanted, value, ends, asked, until
CREATE PROCEDURE pawl_inspect(IN p_lock VARBINARY(255), IN p_end VARBINARY(255), IN p_prefix BLOB, IN p_state TINYINT,
                              IN p_ticket BIGINT UNSIGNED)
BEGIN
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  IF p_state < 0 THEN
    CALL pawl_enter();
    IF @pawl_left AND p_end = '' THEN
      CALL pawl_sweep_lock(p_lock);
    END IF;
    CALL pawl_exit();
  END IF;
  -- Each part is a range of the index by_lock.
  SELECT page.lock_id, page.state, page.ticket, IF(s.id IS NOT NULL OR c.until > v_now, l.name, NULL), l.permits, v_now, c.id,
         c.shared, s.host, s.pid, IF(c.label <> '', c.label, s.label), c.since, c.epoch, c.counter, c.slots, c.wanted, c.value,
         s.ends, c.asked, c.until
    FROM (SELECT id, lock_id, state, ticket FROM (
            (SELECT id, lock_id, state, ticket FROM pawl_claim
               WHERE lock_id = p_lock AND state = p_state AND ticket > p_ticket ORDER BY ticket LIMIT 500)
            UNION ALL
            (SELECT id, lock_id, state, ticket FROM pawl_claim
               WHERE lock_id = p_lock AND state > p_state ORDER BY state, ticket LIMIT 500)
            UNION ALL
            (SELECT id, lock_id, state, ticket FROM pawl_claim
               WHERE lock_id > p_lock AND lock_id < p_end ORDER BY lock_id, state, ticket LIMIT 500)) part
          ORDER BY lock_id, state, ticket LIMIT 500) page
      JOIN pawl_claim c ON c.id = page.id
      LEFT JOIN pawl_lock l ON l.id = page.lock_id AND LEFT(l.name, LENGTH(p_prefix)) = p_prefix
        -- The record of a user lock may outlive it for a moment: pawl_forget().
        AND NOT (page.state = 1 AND SUBSTRING_INDEX(l.id, '/', 1) LIKE '%~named'
                 AND IS_USED_LOCK(SHA2(CONCAT(DATABASE(), '/', l.id), 256)) IS NULL)
      LEFT JOIN pawl_session s ON s.id = c.session AND s.ends > v_now
    ORDER BY page.lock_id, page.state, page.ticket;
END
