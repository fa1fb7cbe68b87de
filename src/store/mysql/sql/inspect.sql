-- For people: one lock (p_lock), or all whose id begins with p_start and whose name begins with p_prefix.
-- Returns a row for each claim, by lock, holders first, then waiters in order: lock, name, permits, state, now, claim, shared,
-- host, pid, label, since, epoch, counter, slots, wanted, value, ends, asked, until
CREATE PROCEDURE pawl_inspect(IN p_lock VARBINARY(255), IN p_start VARBINARY(255), IN p_prefix BLOB)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_exit();
  SELECT l.id, l.name, l.permits, c.state, @pawl_now, c.id, c.shared, s.host, s.pid, IF(c.label <> '', c.label, s.label),
         c.since, c.epoch, c.counter, c.slots, c.wanted, c.value, s.ends, c.asked, c.until
    FROM pawl_lock l JOIN pawl_claim c ON c.lock_id = l.id LEFT JOIN pawl_session s ON s.id = c.session
    WHERE (l.id = p_lock
           OR (p_lock = '' AND LEFT(l.id, LENGTH(p_start)) = p_start AND LEFT(l.name, LENGTH(p_prefix)) = p_prefix))
      -- The record of a user lock may outlive it for a moment: pawl_forget().
      AND NOT (c.state = 1 AND SUBSTRING_INDEX(l.id, '/', 1) LIKE '%~named'
               AND IS_USED_LOCK(SHA2(CONCAT(DATABASE(), '/', l.id), 256)) IS NULL)
    ORDER BY l.id, FIELD(c.state, 1, 0, 2), c.ticket;
END
