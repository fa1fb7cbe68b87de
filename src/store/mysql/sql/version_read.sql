-- The `version` scheme, first step: which version has the lock, and does another claim hold it? Locks nothing.
-- Returns one row: version (empty: nobody uses it), held (1 or 0: it is free, p_claim's, or a dead client's), waits (1: p_claim is
-- known to wait)
CREATE PROCEDURE pawl_version_read(IN p_lock VARBINARY(255), IN p_claim VARBINARY(32))
BEGIN
  SELECT COALESCE(v.version, ''), s.id IS NOT NULL,
         EXISTS (SELECT 1 FROM pawl_claim w WHERE w.id = p_claim AND w.state = 0)
    FROM (SELECT 1) one LEFT JOIN pawl_version v ON v.lock_name = p_lock
      LEFT JOIN pawl_claim c ON c.id = v.claim AND c.id <> p_claim
      LEFT JOIN pawl_session s
        ON s.id = c.session AND s.ends > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
END
