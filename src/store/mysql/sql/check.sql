-- Does a grant with this token stand? Returns 1 or 0.
CREATE PROCEDURE pawl_check(IN p_lock VARBINARY(255), IN p_epoch BIGINT UNSIGNED, IN p_counter BIGINT UNSIGNED)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_exit();
  SELECT EXISTS (SELECT 1 FROM pawl_claim c JOIN pawl_session s ON s.id = c.session AND s.ends > @pawl_now
                   WHERE c.lock_id = p_lock AND c.state = 1 AND c.epoch = p_epoch AND c.counter = p_counter
                     -- The record of a user lock may outlive it for a moment: pawl_forget().
                     AND NOT (SUBSTRING_INDEX(p_lock, '/', 1) LIKE '%~named'
                              AND IS_USED_LOCK(CONCAT('pawl.', CONVERT(c.id USING ascii))) IS NULL));
END
