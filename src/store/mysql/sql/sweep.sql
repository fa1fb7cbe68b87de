-- Sweeps some of what has ended: sessions, lock-delays, and locks that claims have left. @pawl_left: there is more, and the next
-- caller goes on.
CREATE PROCEDURE pawl_sweep()
BEGIN
  DECLARE v_id VARBINARY(32);
  DECLARE v_wanted BIGINT;
  DECLARE v_ended, v_none TINYINT;
  DECLARE sessions CURSOR FOR SELECT id FROM pawl_session WHERE ends <= @pawl_now ORDER BY ends LIMIT 50;
  DECLARE delays CURSOR FOR SELECT id, wanted FROM pawl_claim WHERE until <= @pawl_now ORDER BY until LIMIT 50;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_none = 1;
  OPEN sessions;
  sessions: WHILE @pawl_budget > 0 DO
    SET v_none = 0;
    FETCH sessions INTO v_id;
    IF v_none THEN
      LEAVE sessions;
    END IF;
    SET @pawl_budget = @pawl_budget - 1;
    CALL pawl_mark(v_id, v_ended);
    IF v_ended THEN
      CALL pawl_end_session(v_id);
    END IF;
  END WHILE;
  CLOSE sessions;
  OPEN delays;
  delays: WHILE @pawl_budget > 0 DO
    SET v_none = 0;
    FETCH delays INTO v_id, v_wanted;
    IF v_none THEN
      LEAVE delays;
    END IF;
    CALL pawl_drop(v_id);
    SET @pawl_budget = @pawl_budget - 1 - v_wanted DIV 20;
  END WHILE;
  CLOSE delays;
  SET @pawl_left = @pawl_budget <= 0;
  -- As many again, or the locks that were left would become more and more.
  SET @pawl_budget = 50;
  CALL pawl_settle_some();
  SET @pawl_left = @pawl_left OR @pawl_budget <= 0;
END
