-- What is known of a claim, of a scheme in which each claim takes the lock by itself. What has ended is out of the lock then.
-- p_what: '' (nothing), waiting, granted, lost (its session), gone (the claim), other (another lock's claim)
CREATE PROCEDURE pawl_known(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255),
                            OUT p_what VARBINARY(16))
BEGIN
  DECLARE v_ended TINYINT DEFAULT 0;
  IF @pawl_left THEN
    CALL pawl_mark(p_session, v_ended);
    CALL pawl_sweep_lock(p_lock);
  END IF;
  SELECT CASE WHEN v_ended OR s.id IS NULL THEN 'lost' WHEN t.claim IS NOT NULL THEN 'gone' WHEN c.id IS NULL THEN ''
              WHEN c.session <> p_session OR c.lock_id <> p_lock THEN 'other' WHEN c.state = 0 THEN 'waiting'
              ELSE 'granted' END
    INTO p_what
    FROM (SELECT 1) one LEFT JOIN pawl_session s ON s.id = p_session
      LEFT JOIN pawl_tombstone t ON t.session = p_session AND t.claim = p_claim
      LEFT JOIN pawl_claim c ON c.id = p_claim;
  IF p_what IN ('waiting', 'granted') THEN
    DELETE FROM pawl_mail WHERE session = p_session AND claim = p_claim;
  END IF;
END
