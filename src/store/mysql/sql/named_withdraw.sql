-- Releases: the record first, then the lock. Returns as pawl_withdraw.
CREATE PROCEDURE pawl_named_withdraw(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255),
                                     IN p_failed TINYINT, IN p_unsettled TINYINT)
BEGIN
  CALL pawl_withdraw(p_claim, p_session, p_lock, p_failed, p_unsettled);
  DO RELEASE_ALL_LOCKS();
END
