package reservectl

import (
	"github.com/spf13/cobra"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

func (a *app) mediaCommand() *cobra.Command {
	return a.callGroup("media", "Manage and import media items, and see who can play them", []call{
		{
			use: "list", short: "List media items", method: mediav1.MediaService_ListMediaItems_FullMethodName,
			columns: []string{"id", "title", "kind", "status", "duration_seconds", "file=file.name", "size=file.size", "collections=collection_ids", "tags"},
			none:    "no media items", examples: []string{"--kind video --status published", "--collection-id col_…"},
		},
		{
			use: "get MEDIA", short: "Show a media item", method: mediav1.MediaService_GetMediaItem_FullMethodName, args: []string{"id"}, examples: []string{"media_…"},
		},
		{
			use: "create", short: "Create a media item without a file, as a draft", method: mediav1.MediaService_CreateMediaItem_FullMethodName,
			required: []string{"title", "kind"}, examples: []string{`--title "Morning flow" --kind video --tag yoga,beginners --collection-id col_…`},
		},
		{
			use: "update MEDIA", short: "Change a media item; flags that are not given change nothing", method: mediav1.MediaService_UpdateMediaItem_FullMethodName,
			args: []string{"id"}, examples: []string{"media_… --status published", `media_… --collection-id ""`},
		},
		{
			use: "delete MEDIA", short: "Delete a media item, its files and the progress of customers", method: mediav1.MediaService_DeleteMediaItem_FullMethodName,
			args: []string{"id"}, examples: []string{"media_…"},
		},
		{
			use: "playable CUSTOMER", short: "List the published items that a customer can play now, and why", method: mediav1.MediaService_ListCustomerMedia_FullMethodName,
			args:    []string{"customer_id"},
			columns: []string{"id=item.id", "title=item.title", "kind=item.kind", "reason", "position_seconds=progress.position_seconds", "completed=progress.completed"},
			none:    "the customer can play no items", examples: []string{"cust_…"},
		},
		{
			use: "entitled CUSTOMER MEDIA", short: "Show whether a customer can play an item, and why", method: mediav1.MediaService_GetCustomerMedia_FullMethodName,
			args: []string{"customer_id", "item_id"}, examples: []string{"cust_… media_…"},
		},
		{
			use: "playback-link MEDIA CUSTOMER", short: "Create an address at which a customer can play an item for a short time",
			method: mediav1.MediaService_CreatePlaybackLink_FullMethodName,
			args:   []string{"item_id", "customer_id"}, examples: []string{"media_… cust_… --minutes 30"},
		},
		{
			use: "progress MEDIA CUSTOMER", short: "Record how far a customer has watched an item", method: mediav1.MediaService_RecordProgress_FullMethodName,
			args: []string{"item_id", "customer_id"}, required: []string{"position_seconds"}, examples: []string{"media_… cust_… --position-seconds 90"},
		},
	}, a.mediaUpload(), a.mediaImport())
}

func (a *app) mediaUploadCommand() *cobra.Command {
	return a.callGroup("media-upload", "Upload files in parts with another program; media upload sends a whole file", []call{
		{
			use: "create MEDIA", short: "Begin the upload of a file or a cover, and show the address of its parts", method: mediav1.MediaService_CreateUpload_FullMethodName,
			args: []string{"item_id"}, required: []string{"file_name", "content_type", "size"},
			examples: []string{"media_… --file-name flow.mp4 --content-type video/mp4 --size 104857600"},
		},
		{
			use: "get MEDIA UPLOAD", short: "Show an upload and the parts that have arrived", method: mediav1.MediaService_GetUpload_FullMethodName,
			args: []string{"item_id", "upload_id"}, examples: []string{"media_… upl_…"},
		},
		{
			use: "complete MEDIA UPLOAD", short: "Join the parts of an upload, and make it the file or cover of its item",
			method: mediav1.MediaService_CompleteUpload_FullMethodName, args: []string{"item_id", "upload_id"}, examples: []string{"media_… upl_…"},
		},
		{
			use: "cancel MEDIA UPLOAD", short: "Remove an upload and its parts", method: mediav1.MediaService_CancelUpload_FullMethodName,
			args: []string{"item_id", "upload_id"}, examples: []string{"media_… upl_…"},
		},
	})
}

func (a *app) mediaCollectionCommand() *cobra.Command {
	return a.callGroup("media-collection", "Manage collections of media items", []call{
		{
			use: "list", short: "List collections", method: mediav1.MediaService_ListCollections_FullMethodName,
			columns: []string{"id", "title", "item_count", "updated_at"}, none: "no collections",
		},
		{
			use: "get COLLECTION", short: "Show a collection", method: mediav1.MediaService_GetCollection_FullMethodName, args: []string{"id"}, examples: []string{"col_…"},
		},
		{
			use: "create", short: "Create a collection", method: mediav1.MediaService_CreateCollection_FullMethodName,
			required: []string{"title"}, examples: []string{`--title "Home practice"`},
		},
		{
			use: "update COLLECTION", short: "Change a collection; flags that are not given change nothing", method: mediav1.MediaService_UpdateCollection_FullMethodName,
			args: []string{"id"}, examples: []string{`col_… --title "Practice at home"`},
		},
		{
			use: "delete COLLECTION", short: "Delete a collection and the entitlements to it, not its items", method: mediav1.MediaService_DeleteCollection_FullMethodName,
			args: []string{"id"}, examples: []string{"col_…"},
		},
	})
}

func (a *app) mediaEntitlementCommand() *cobra.Command {
	return a.callGroup("media-entitlement", "Manage who can play a collection or an item", []call{
		{
			use: "list", short: "List entitlements", method: mediav1.MediaService_ListEntitlements_FullMethodName,
			columns: []string{"id", "collection_id", "item_id", "pass_type_id", "plan_id", "event_id", "customer_id", "last_day"},
			none:    "no entitlements", examples: []string{"--collection-id col_…", "--customer-id cust_…"},
		},
		{
			use: "get ENTITLEMENT", short: "Show an entitlement", method: mediav1.MediaService_GetEntitlement_FullMethodName, args: []string{"id"}, examples: []string{"ent_…"},
		},
		{
			use: "create", short: "Let the holders of a pass type or plan, who booked an event, or one customer play a collection or an item",
			method:   mediav1.MediaService_CreateEntitlement_FullMethodName,
			examples: []string{"--collection-id col_… --pass-type-id pass_…", "--item-id media_… --customer-id cust_… --last-day 2026-12-31"},
		},
		{
			use: "delete ENTITLEMENT", short: "Delete an entitlement; playback links that rely on it stop working", method: mediav1.MediaService_DeleteEntitlement_FullMethodName,
			args: []string{"id"}, examples: []string{"ent_…"},
		},
	})
}
