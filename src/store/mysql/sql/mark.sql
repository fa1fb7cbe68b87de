-- Has this session ended? Then it is marked, by a lease of 0: a renewal that crosses this one does not bring it back. What it leaves
-- behind is ignored from then on, and swept bit by bit; its row goes last.
CREATE PROCEDURE pawl_mark(IN p_session VARBINARY(32), OUT p_ended TINYINT)
BEGIN
  DECLARE v_ends BIGINT DEFAULT (SELECT ends FROM pawl_session WHERE id = p_session);
  IF v_ends <= @pawl_now THEN
    -- A renewal locks this row and nothing else, so this waits for no claim.
    UPDATE pawl_session SET lease = 0 WHERE id = p_session AND ends <= @pawl_now;
    SET v_ends = (SELECT ends FROM pawl_session WHERE id = p_session);
  END IF;
  SET p_ended = COALESCE(v_ends <= @pawl_now, 1);
END
