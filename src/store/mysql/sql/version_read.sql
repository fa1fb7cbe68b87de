-- The `version` scheme, first step: which version has the lock, and who has it? Locks nothing.
-- Returns one row: version (empty: nobody uses it), owner (a claim; empty: it is free), waits (1: p_claim is known to wait)
CREATE PROCEDURE pawl_version_read(IN p_lock VARBINARY(255), IN p_claim VARBINARY(32))
BEGIN
  SELECT COALESCE(v.version, ''), COALESCE(v.claim, ''),
         EXISTS (SELECT 1 FROM pawl_claim c WHERE c.id = p_claim AND c.state = 0)
    FROM (SELECT 1) one LEFT JOIN pawl_version v ON v.lock_name = p_lock;
END
