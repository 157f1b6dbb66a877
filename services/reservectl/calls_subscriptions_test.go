package reservectl

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func subscriptionTests() []callTest {
	paid := &subscriptionv1.SubscriptionPayment{Method: "CASH", Reference: "r", Amount: proto.Int64(0)}
	return []callTest{
		{"pass list --of-plans", passv1.PassService_ListPassTypes_FullMethodName, &passv1.ListPassTypesRequest{PageSize: 50, OfPlans: true}},
		{"plan list --status archived", subscriptionv1.PlanService_ListPlans_FullMethodName, &subscriptionv1.ListPlansRequest{PageSize: 50, Status: subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED}},
		{"plan get plan_1", subscriptionv1.PlanService_GetPlan_FullMethodName, &subscriptionv1.GetPlanRequest{Id: "plan_1"}},
		{"plan create --title Eight --interval-unit month --price 8000 --credits 8 --max-rollover 4", subscriptionv1.PlanService_CreatePlan_FullMethodName, &subscriptionv1.CreatePlanRequest{
			Title: "Eight", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, Price: 8000, Credits: 8, MaxRollover: 4,
		}},
		{"plan update plan_1 --price 0 --status archived --media-collection-id= --eligible-event-type class", subscriptionv1.PlanService_UpdatePlan_FullMethodName, &subscriptionv1.UpdatePlanRequest{
			Id: "plan_1", Price: proto.Int64(0), Status: subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED,
			MediaCollectionIds: &subscriptionv1.TextList{}, EligibleEventTypes: &subscriptionv1.TextList{Values: []string{"class"}},
		}},
		{"subscription list --customer-id cust_1 --status past_due --payment-due", subscriptionv1.SubscriptionService_ListSubscriptions_FullMethodName, &subscriptionv1.ListSubscriptionsRequest{
			CustomerId: "cust_1", PageSize: 50, Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE, PaymentDue: true,
		}},
		{"subscription get sub_1", subscriptionv1.SubscriptionService_GetSubscription_FullMethodName, &subscriptionv1.GetSubscriptionRequest{Id: "sub_1"}},
		{"subscription create cust_1 plan_1 --skip-trial", subscriptionv1.SubscriptionService_CreateSubscription_FullMethodName, &subscriptionv1.CreateSubscriptionRequest{
			CustomerId: "cust_1", PlanId: "plan_1", SkipTrial: true,
		}},
		{"subscription create cust_1 plan_1 --method CASH --reference r --amount 0", subscriptionv1.SubscriptionService_CreateSubscription_FullMethodName, &subscriptionv1.CreateSubscriptionRequest{
			CustomerId: "cust_1", PlanId: "plan_1", Payment: paid,
		}},
		{"subscription periods sub_1 --descending", subscriptionv1.SubscriptionService_ListPeriods_FullMethodName, &subscriptionv1.ListPeriodsRequest{SubscriptionId: "sub_1", PageSize: 50, Descending: true}},
		{"subscription account sub_1", subscriptionv1.SubscriptionService_ListAccountEntries_FullMethodName, &subscriptionv1.ListAccountEntriesRequest{SubscriptionId: "sub_1", PageSize: 50}},
		{"subscription settings", subscriptionv1.SubscriptionService_GetSubscriptionSettings_FullMethodName, &subscriptionv1.GetSubscriptionSettingsRequest{}},
		{"subscription update-settings --past-due-after-days 0 --grace-days 7 --reminder-day 0,3 --end-after-days 30 --version 2", subscriptionv1.SubscriptionService_UpdateSubscriptionSettings_FullMethodName, &subscriptionv1.UpdateSubscriptionSettingsRequest{
			Settings: &subscriptionv1.SubscriptionSettings{GraceDays: 7, ReminderDays: []int32{0, 3}, EndAfterDays: proto.Int32(30), Version: 2},
		}},
		{"subscription restore-passes", subscriptionv1.SubscriptionService_RestoreCustomerPasses_FullMethodName, &subscriptionv1.RestoreCustomerPassesRequest{}},
		{"subscription pause sub_1 --first-day 2026-07-01 --resumes-on 2026-09-01 --reason Away", subscriptionv1.SubscriptionService_PauseSubscription_FullMethodName, &subscriptionv1.PauseSubscriptionRequest{
			Id: "sub_1", FirstDay: "2026-07-01", ResumesOn: "2026-09-01", Reason: "Away",
		}},
		{"subscription resume sub_1 --on 2026-09-01", subscriptionv1.SubscriptionService_ResumeSubscription_FullMethodName, &subscriptionv1.ResumeSubscriptionRequest{Id: "sub_1", On: "2026-09-01"}},
		{"subscription preview-plan-change sub_1 plan_2 --when now", subscriptionv1.SubscriptionService_PreviewPlanChange_FullMethodName, &subscriptionv1.PreviewPlanChangeRequest{
			Id: "sub_1", PlanId: "plan_2", When: subscriptionv1.ChangeTime_CHANGE_TIME_NOW,
		}},
		{"subscription change-plan sub_1 plan_2 --when now --method CASH --reference r --amount 0", subscriptionv1.SubscriptionService_ChangePlan_FullMethodName, &subscriptionv1.ChangePlanRequest{
			Id: "sub_1", PlanId: "plan_2", When: subscriptionv1.ChangeTime_CHANGE_TIME_NOW, Payment: paid,
		}},
		{"subscription withdraw-plan-change sub_1", subscriptionv1.SubscriptionService_WithdrawPlanChange_FullMethodName, &subscriptionv1.WithdrawPlanChangeRequest{Id: "sub_1"}},
		{"subscription preview-cancellation sub_1 --prorate", subscriptionv1.SubscriptionService_PreviewCancellation_FullMethodName, &subscriptionv1.PreviewCancellationRequest{Id: "sub_1", Prorate: true}},
		{"subscription cancel sub_1 --when period_end --reason Away --expected-version 3", subscriptionv1.SubscriptionService_CancelSubscription_FullMethodName, &subscriptionv1.CancelSubscriptionRequest{
			Id: "sub_1", When: subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END, Reason: "Away", ExpectedVersion: proto.Int64(3),
		}},
		{"subscription withdraw-cancellation sub_1", subscriptionv1.SubscriptionService_WithdrawCancellation_FullMethodName, &subscriptionv1.WithdrawCancellationRequest{Id: "sub_1"}},
		{"subscription record-payment sub_1 --period 3 --method CASH --reference r --amount 0", subscriptionv1.SubscriptionService_RecordPayment_FullMethodName, &subscriptionv1.RecordPaymentRequest{
			Id: "sub_1", Period: 3, Payment: paid,
		}},
		{"subscription record-failure sub_1 --reason Declined", subscriptionv1.SubscriptionService_RecordPaymentFailure_FullMethodName, &subscriptionv1.RecordPaymentFailureRequest{Id: "sub_1", Reason: "Declined"}},
		{"subscription waive-payment sub_1 --period 2", subscriptionv1.SubscriptionService_WaivePayment_FullMethodName, &subscriptionv1.WaivePaymentRequest{Id: "sub_1", Period: 2}},
		{"subscription record-refund sub_1 --amount 0", subscriptionv1.SubscriptionService_RecordRefund_FullMethodName, &subscriptionv1.RecordRefundRequest{Id: "sub_1", Amount: proto.Int64(0)}},
	}
}

func mediaTests() []callTest {
	return []callTest{
		{"media list --kind audio --tag calm", mediav1.MediaService_ListMediaItems_FullMethodName, &mediav1.ListMediaItemsRequest{PageSize: 50, Kind: mediav1.MediaKind_MEDIA_KIND_AUDIO, Tag: "calm"}},
		{"media get media_1", mediav1.MediaService_GetMediaItem_FullMethodName, &mediav1.GetMediaItemRequest{Id: "media_1"}},
		{"media create --title Flow --kind video --tag a,b --collection-id col_1", mediav1.MediaService_CreateMediaItem_FullMethodName, &mediav1.CreateMediaItemRequest{
			Title: "Flow", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO, Tags: []string{"a", "b"}, CollectionIds: []string{"col_1"},
		}},
		{"media update media_1 --status published --tag=", mediav1.MediaService_UpdateMediaItem_FullMethodName, &mediav1.UpdateMediaItemRequest{
			Id: "media_1", Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED, Tags: &mediav1.MediaTags{},
		}},
		{"media delete media_1", mediav1.MediaService_DeleteMediaItem_FullMethodName, &mediav1.DeleteMediaItemRequest{Id: "media_1"}},
		{"media playable cust_1", mediav1.MediaService_ListCustomerMedia_FullMethodName, &mediav1.ListCustomerMediaRequest{CustomerId: "cust_1", PageSize: 50}},
		{"media entitled cust_1 media_1", mediav1.MediaService_GetCustomerMedia_FullMethodName, &mediav1.GetCustomerMediaRequest{CustomerId: "cust_1", ItemId: "media_1"}},
		{"media playback-link media_1 cust_1 --minutes 30", mediav1.MediaService_CreatePlaybackLink_FullMethodName, &mediav1.CreatePlaybackLinkRequest{ItemId: "media_1", CustomerId: "cust_1", Minutes: 30}},
		{"media progress media_1 cust_1 --position-seconds 90 --completed", mediav1.MediaService_RecordProgress_FullMethodName, &mediav1.RecordProgressRequest{
			ItemId: "media_1", CustomerId: "cust_1", PositionSeconds: 90, Completed: true,
		}},
		{"media-upload create media_1 --file-name a.mp4 --content-type video/mp4 --size 9 --purpose cover", mediav1.MediaService_CreateUpload_FullMethodName, &mediav1.CreateUploadRequest{
			ItemId: "media_1", FileName: "a.mp4", ContentType: "video/mp4", Size: 9, Purpose: mediav1.UploadPurpose_UPLOAD_PURPOSE_COVER,
		}},
		{"media-upload get media_1 upl_1", mediav1.MediaService_GetUpload_FullMethodName, &mediav1.GetUploadRequest{ItemId: "media_1", UploadId: "upl_1"}},
		{"media-upload complete media_1 upl_1", mediav1.MediaService_CompleteUpload_FullMethodName, &mediav1.CompleteUploadRequest{ItemId: "media_1", UploadId: "upl_1"}},
		{"media-upload cancel media_1 upl_1", mediav1.MediaService_CancelUpload_FullMethodName, &mediav1.CancelUploadRequest{ItemId: "media_1", UploadId: "upl_1"}},
		{"media-collection list", mediav1.MediaService_ListCollections_FullMethodName, &mediav1.ListCollectionsRequest{PageSize: 50}},
		{"media-collection get col_1", mediav1.MediaService_GetCollection_FullMethodName, &mediav1.GetCollectionRequest{Id: "col_1"}},
		{"media-collection create --title Home", mediav1.MediaService_CreateCollection_FullMethodName, &mediav1.CreateCollectionRequest{Title: "Home"}},
		{"media-collection update col_1 --description=", mediav1.MediaService_UpdateCollection_FullMethodName, &mediav1.UpdateCollectionRequest{Id: "col_1", Description: proto.String("")}},
		{"media-collection delete col_1", mediav1.MediaService_DeleteCollection_FullMethodName, &mediav1.DeleteCollectionRequest{Id: "col_1"}},
		{"media-entitlement list --item-id media_1", mediav1.MediaService_ListEntitlements_FullMethodName, &mediav1.ListEntitlementsRequest{PageSize: 50, ItemId: "media_1"}},
		{"media-entitlement get ent_1", mediav1.MediaService_GetEntitlement_FullMethodName, &mediav1.GetEntitlementRequest{Id: "ent_1"}},
		{"media-entitlement create --collection-id col_1 --plan-id plan_1 --last-day 2026-12-31", mediav1.MediaService_CreateEntitlement_FullMethodName, &mediav1.CreateEntitlementRequest{
			CollectionId: "col_1", PlanId: "plan_1", LastDay: "2026-12-31",
		}},
		{"media-entitlement delete ent_1", mediav1.MediaService_DeleteEntitlement_FullMethodName, &mediav1.DeleteEntitlementRequest{Id: "ent_1"}},
	}
}

// TestNumbers checks that a list of numbers is one in JSON too.
func TestNumbers(t *testing.T) {
	w := newRPCWorld(t)
	w.answer = func(string, proto.Message) (proto.Message, error) {
		return &subscriptionv1.GetSubscriptionSettingsResponse{Settings: &subscriptionv1.SubscriptionSettings{ReminderDays: []int32{0, 3, 7}}}, nil
	}
	var settings struct {
		Days []int `json:"reminder_days"`
	}
	if err := json.Unmarshal([]byte(ok(t, with("subscription settings -o json")...)), &settings); err != nil || !slices.Equal(settings.Days, []int{0, 3, 7}) {
		t.Errorf("got %v, %v", settings, err)
	}
	if out := ok(t, with("subscription settings -o table")...); !strings.Contains(out, "0,3,7\n") {
		t.Errorf("got %s", out)
	}
}

// TestRestorePasses checks that a response without a resource is printed with all its fields.
func TestRestorePasses(t *testing.T) {
	newRPCWorld(t)
	if out := ok(t, with("subscription restore-passes -o json")...); out != "{\n  \"subscriptions\": 7\n}\n" {
		t.Errorf("got %s", out)
	}
}
