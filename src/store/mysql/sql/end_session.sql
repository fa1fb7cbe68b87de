-- Sweeps some of what a marked session has left behind; its holds count as failed since it has ended. pawl_settle_some() must
-- follow.
CREATE PROCEDURE pawl_end_session(IN p_session VARBINARY(32))
BEGIN
  DECLARE v_claim VARBINARY(32);
  DECLARE v_wanted BIGINT;
  DECLARE v_none TINYINT;
  DECLARE v_mail, v_tombstones INT;
  DECLARE v_ends BIGINT DEFAULT (SELECT ends FROM pawl_session WHERE id = p_session);
  -- One look for all of them: each look passes what was deleted lately.
  DECLARE claims CURSOR FOR SELECT id, wanted FROM pawl_claim WHERE session = p_session LIMIT 50;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_none = 1;
  OPEN claims;
  claims: WHILE @pawl_budget > 0 DO
    SET v_none = 0;
    FETCH claims INTO v_claim, v_wanted;
    IF v_none THEN
      LEAVE claims;
    END IF;
    CALL pawl_leave(v_claim, v_ends);
    SET @pawl_budget = @pawl_budget - 1 - v_wanted DIV 20;
  END WHILE;
  CLOSE claims;
  IF @pawl_budget > 0 THEN
    DELETE FROM pawl_mail WHERE session = p_session LIMIT 100;
    SET v_mail = ROW_COUNT();
    DELETE FROM pawl_tombstone WHERE session = p_session LIMIT 100;
    SET v_tombstones = ROW_COUNT();
    IF v_mail < 100 AND v_tombstones < 100 THEN
      DELETE FROM pawl_session WHERE id = p_session;
      SET @pawl_budget = @pawl_budget - (v_mail + v_tombstones) DIV 4;
    ELSE
      SET @pawl_budget = 0;
    END IF;
  END IF;
END
