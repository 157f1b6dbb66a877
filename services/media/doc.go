// Package media is the media service: a company's library of videos, recordings, documents and images,
// who can play them, and how far customers have watched them.
//
// Files are in a bucket (package gocloud.dev/blob), and rows in the database name them. Callers upload and
// play files over HTTP, at addresses that the service signs; everything else is gRPC.
//
//	CreateUpload ──▶ open ── parts ──▶ CompleteUpload ──▶ completing ──▶ complete: the item's file
//	                   ├── cancelled: removed       ├── wrong checksum or type: failed
//	                   └── expired: failed          └── a damaged part: open again
//
// One function decides whether a customer can play an item (entitled.go): it reads the entitlements of
// the item from the database, and asks the pass, subscription and booking services whether the customer
// has what they need. A playback link names the customer, the item and the reason, and each request for
// the file checks that the reason still holds.
//
// # Invariants
//
//  1. An item is published only if it has a file. Customers see only published items.
//  2. A file that a row names is in the bucket, complete and with the stored size and checksum. A file
//     that no row names is removed by a job after some days, so that a restored database finds it. Rows are
//     committed after their file is stored, and files are removed after their row is gone.
//  3. The name of an object in the bucket is made by the service. Nothing that a caller sends is part of
//     it.
//  4. An upload larger than its declared size, its part size or the limit of the installation is refused
//     while it arrives. Memory does not depend on the size of a file.
//  5. The type of a file is decided by its content, and must agree with the declared type and the item's
//     kind. An image is refused by its dimensions before it is decoded.
//  6. A customer can play an item if an entitlement of the item, or of one of its collections, names the
//     customer, or a pass type, plan or event of which the customer has an active pass, a subscription in
//     good standing or a booking that is not cancelled.
//  7. A playback link is for one customer, one item and one purpose, and works until it expires, the
//     entitlement ends, the item is changed to a draft or deleted, or the customer is deleted. Changing any
//     part of the link makes it invalid. A response that takes long checks again while it is sent.
//  8. Removing an item removes its files, uploads, entitlements and progress.
//  9. A company sees only its own data, over gRPC and over HTTP. An identifier of another company gets the
//     same response as one that does not exist.
//  10. After ConfirmCustomerDeletion has returned, no replica commits progress or an entitlement for the
//     customer, and the customer's links have stopped working. Erasing a customer removes the customer's
//     progress and the entitlements given to the customer. An export includes both.
//  11. A change and its events are one commit, and raise the version of the item.
//  12. For a company in test mode, its test clock decides which entitlements and links have ended.
//  13. One company's uploads and playback do not hold up another's: each has a bounded number of requests
//     in progress.
package media
