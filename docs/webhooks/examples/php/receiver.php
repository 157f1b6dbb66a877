<?php

// A receiver of webhooks. Run it with:
//
//   WEBHOOK_SECRETS=whsec_… php -S 127.0.0.1:3000 receiver.php

declare(strict_types=1);

require __DIR__ . '/verify.php';

$secrets = explode(' ', getenv('WEBHOOK_SECRETS'));
$body = file_get_contents('php://input');
$headers = [];
foreach ($_SERVER as $name => $value) {
    if (str_starts_with($name, 'HTTP_')) {
        $headers[strtolower(strtr(substr($name, 5), '_', '-'))] = $value;
    }
}
if (!verify_token($headers, $body, $secrets)) {
    http_response_code(401);
    exit('the signature is not valid');
}
$envelope = json_decode($body, true, 512, JSON_THROW_ON_ERROR);
// Store $envelope['id'] in your database, and ignore ids that are stored already. Put other
// webhooks in a queue: answer first, work later.
if (!($envelope['test'] ?? false)) {
    error_log($envelope['event'] . ' ' . json_encode($envelope['data']));
}
http_response_code(204);
