-- Can such a claim be granted now, whoever waits? An exclusive claim fits beside nobody, a shared one beside shared ones,
-- permits while there are enough left.
CREATE PROCEDURE pawl_fits(IN p_lock VARBINARY(255), IN p_shared TINYINT, IN p_wanted INT UNSIGNED, OUT p_fits TINYINT)
BEGIN
  IF p_wanted > 0 THEN
    SET p_fits = (SELECT permits >= used + p_wanted FROM pawl_lock WHERE id = p_lock);
  ELSEIF p_shared = 0 THEN
    SET p_fits = NOT EXISTS (SELECT 1 FROM pawl_claim WHERE lock_id = p_lock AND state IN (1, 2));
  ELSE
    -- An exclusive holder is alone, and so is its lock-delay: the first one tells.
    SET p_fits = COALESCE((SELECT shared FROM pawl_claim WHERE lock_id = p_lock AND state = 1 ORDER BY ticket LIMIT 1), 1)
      AND COALESCE((SELECT shared FROM pawl_claim WHERE lock_id = p_lock AND state = 2 ORDER BY ticket LIMIT 1), 1);
  END IF;
  SET p_fits = COALESCE(p_fits, 1);
END
