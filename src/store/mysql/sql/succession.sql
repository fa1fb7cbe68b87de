-- Who has led an election lately, oldest first. Returns rows: now, vacant, epoch (NULL: no history), counter, since, till,
-- host, pid, label, value
CREATE PROCEDURE pawl_succession(IN p_lock VARBINARY(255))
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_exit();
  SELECT @pawl_now, NOT EXISTS (SELECT 1 FROM pawl_claim c JOIN pawl_session s ON s.id = c.session AND s.ends > @pawl_now
                                  WHERE c.lock_id = p_lock AND c.state = 1),
         r.epoch, r.counter, r.since, r.till, r.host, r.pid, r.label, r.value
    FROM (SELECT 1) one LEFT JOIN pawl_reign r ON r.lock_id = p_lock ORDER BY r.epoch, r.counter;
END
