-- How each procedure that changes claims begins: the store's row is locked, and some of what has ended is swept. Sets @pawl_epoch,
-- @pawl_counter, @pawl_now, @pawl_wake (mailboxes to wake up when all is committed), @pawl_left (1: there is more to sweep, so
-- whoever looks at a lock sweeps that first, by pawl_sweep_lock(), and whoever acts for a session asks pawl_mark() first; 0:
-- nothing that has ended is left), and @pawl_budget: so many claims the caller may still end, grant or tell on behalf of others.
CREATE PROCEDURE pawl_enter()
BEGIN
  DECLARE v_clock BIGINT;
  START TRANSACTION;
  SELECT epoch, counter, clock INTO @pawl_epoch, @pawl_counter, v_clock FROM pawl_meta WHERE id = 1 FOR UPDATE;
  SET @pawl_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  SET @pawl_wake = '', @pawl_left = 0, @pawl_budget = 50;
  -- The clock was set back: nothing lasts longer than if it began now.
  IF @pawl_now < v_clock THEN
    UPDATE pawl_session SET ends = @pawl_now + lease WHERE ends > @pawl_now + lease;
    UPDATE pawl_claim SET until = @pawl_now + delay WHERE until > @pawl_now + delay;
  END IF;
  IF EXISTS (SELECT 1 FROM pawl_session WHERE ends <= @pawl_now) OR EXISTS (SELECT 1 FROM pawl_claim WHERE until <= @pawl_now)
     OR EXISTS (SELECT 1 FROM pawl_unsettled) THEN
    CALL pawl_sweep();
    SET @pawl_budget = 50;
  END IF;
END
