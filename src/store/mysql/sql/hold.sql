-- Records a claim as the holder of a lock that it has taken by itself, with the next token.
CREATE PROCEDURE pawl_hold(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB,
                           IN p_delay BIGINT, IN p_label BLOB)
BEGIN
  SET @pawl_counter = @pawl_counter + 2;
  INSERT IGNORE INTO pawl_lock VALUES (p_lock, p_name, 0, 0, '');
  INSERT INTO pawl_claim VALUES (p_claim, p_session, p_lock, 1, 0, 0, p_delay, @pawl_now, NULL, @pawl_counter - 1,
                                 @pawl_epoch, @pawl_counter, 0, '', p_label, '')
    ON DUPLICATE KEY UPDATE state = 1, since = @pawl_now, epoch = @pawl_epoch, counter = @pawl_counter;
END
