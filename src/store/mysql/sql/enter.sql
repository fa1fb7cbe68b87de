-- How each procedure that changes claims begins: the store's row is locked, and what has ended is swept. Sets
-- @pawl_epoch, @pawl_counter, @pawl_now and @pawl_wake (mailboxes to wake up when all is committed).
CREATE PROCEDURE pawl_enter()
BEGIN
  DECLARE v_clock BIGINT;
  START TRANSACTION;
  SELECT epoch, counter, clock INTO @pawl_epoch, @pawl_counter, v_clock FROM pawl_meta WHERE id = 1 FOR UPDATE;
  SET @pawl_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  SET @pawl_wake = '';
  -- The clock was set back: nothing lasts longer than if it began now.
  IF @pawl_now < v_clock THEN
    UPDATE pawl_session SET ends = @pawl_now + lease WHERE ends > @pawl_now + lease;
    UPDATE pawl_claim SET until = @pawl_now + delay WHERE until > @pawl_now + delay;
  END IF;
  IF EXISTS (SELECT 1 FROM pawl_session WHERE ends <= @pawl_now) OR EXISTS (SELECT 1 FROM pawl_claim WHERE until <= @pawl_now)
     OR EXISTS (SELECT 1 FROM pawl_unsettled) THEN
    CALL pawl_sweep();
  END IF;
END
