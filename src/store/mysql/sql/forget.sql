-- Takes the records of claims away whose locks their connections have freed already. p_claims: "id,id,...,".
-- Returns 1.
CREATE PROCEDURE pawl_forget(IN p_claims MEDIUMBLOB)
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  WHILE p_claims <> '' DO
    SET v_claim = SUBSTRING(p_claims, 1, 32);
    SET p_claims = SUBSTRING(p_claims, 34);
    SET v_session = NULL;
    SELECT session INTO v_session FROM pawl_claim WHERE id = v_claim;
    IF v_session IS NOT NULL THEN
      DELETE FROM pawl_mail WHERE session = v_session AND claim = v_claim;
      CALL pawl_leave(v_claim, NULL);
    END IF;
  END WHILE;
  CALL pawl_settle_some();
  CALL pawl_exit();
  SELECT 1;
END
