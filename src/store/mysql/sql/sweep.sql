-- Ends the sessions and the lock-delays whose time is over.
CREATE PROCEDURE pawl_sweep()
BEGIN
  DECLARE v_id VARBINARY(32);
  DECLARE v_ends BIGINT;
  sessions: LOOP
    SET v_id = (SELECT id FROM pawl_session WHERE ends <= @pawl_now ORDER BY ends LIMIT 1);
    IF v_id IS NULL THEN
      LEAVE sessions;
    END IF;
    -- It may be renewed at the same time: a renewal locks this row and nothing else.
    SELECT ends INTO v_ends FROM pawl_session WHERE id = v_id FOR UPDATE;
    IF v_ends <= @pawl_now THEN
      CALL pawl_end_session(v_id, v_ends);
    END IF;
  END LOOP;
  delays: LOOP
    SET v_id = (SELECT id FROM pawl_claim WHERE until <= @pawl_now ORDER BY until LIMIT 1);
    IF v_id IS NULL THEN
      LEAVE delays;
    END IF;
    CALL pawl_drop(v_id);
  END LOOP;
  CALL pawl_settle_some();
END
