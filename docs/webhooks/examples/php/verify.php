<?php

declare(strict_types=1);

const TOLERANCE = 300; // seconds: maximum age of a Standard Webhooks timestamp
const LEEWAY = 60; // seconds: how much clocks may differ for a JWT

function sign(string $secret, string $text): string
{
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
    if ($key === false || $key === '') {
        throw new InvalidArgumentException('the secret must be whsec_ followed by base64');
    }
    return hash_hmac('sha256', $text, $key, true);
}

function decode(string $part): string
{
    $text = base64_decode(strtr($part, '-_', '+/'), true);
    return $text === false ? '' : $text;
}

/**
 * Reports whether X-Service-Signature is valid.
 *
 * $headers have lower-case names; $body is the received bytes
 * (php://input); $secrets are the valid ones, two during a rotation.
 */
function verify_token(array $headers, string $body, array $secrets, ?int $now = null): bool
{
    foreach (['x-service-signature', 'x-service-signature-previous'] as $name) {
        foreach ($secrets as $secret) {
            if (isset($headers[$name]) && verify_one_token($headers[$name], $body, $secret, $now ?? time())) {
                return true;
            }
        }
    }
    return false;
}

function verify_one_token(string $token, string $body, string $secret, int $now): bool
{
    $parts = explode('.', $token);
    if (count($parts) !== 3) {
        return false;
    }
    $head = json_decode(decode($parts[0]), true);
    if (!is_array($head) || ($head['alg'] ?? null) !== 'HS256') { // rejects "none" as well
        return false;
    }
    if (!hash_equals(sign($secret, "$parts[0].$parts[1]"), decode($parts[2]))) {
        return false;
    }
    $claims = json_decode(decode($parts[1]), true);
    return is_array($claims)
        && $now <= ($claims['exp'] ?? 0) + LEEWAY
        && $now >= ($claims['iat'] ?? PHP_INT_MAX) - LEEWAY
        && hash_equals(hash('sha256', $body), $claims['body_sha256'] ?? '');
}

/** Reports whether the headers of the Standard Webhooks specification are valid. */
function verify_standard(array $headers, string $body, array $secrets, ?int $now = null): bool
{
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if ($id === '' || !ctype_digit($timestamp) || abs(($now ?? time()) - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $signature) {
        [$version, $text] = explode(',', $signature, 2) + ['', ''];
        foreach ($secrets as $secret) {
            $want = base64_encode(sign($secret, "$id.$timestamp.$body"));
            if ($version === 'v1' && hash_equals($want, $text)) {
                return true;
            }
        }
    }
    return false;
}
