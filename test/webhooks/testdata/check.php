<?php

// Prints what the PHP example makes of the vectors on standard input.

require $argv[1];

$verdicts = [];
foreach (json_decode(stream_get_contents(STDIN), true)['vectors'] as $v) {
    $headers = array_change_key_case($v['headers']);
    $verdicts[$v['name']] = [
        verify_token($headers, $v['body'], $v['secrets'], $v['time']),
        verify_standard($headers, $v['body'], $v['secrets'], $v['time']),
    ];
}
echo json_encode($verdicts);
