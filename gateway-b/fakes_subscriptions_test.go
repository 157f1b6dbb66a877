package gatewayb

import (
	"context"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

type fakePlans struct {
	subscriptionv1.UnimplementedPlanServiceServer
	*fakes
}

func (f fakePlans) CreatePlan(ctx context.Context, req *subscriptionv1.CreatePlanRequest) (*subscriptionv1.CreatePlanResponse, error) {
	return reply[*subscriptionv1.CreatePlanResponse](ctx, f.fakes, req)
}
func (f fakePlans) GetPlan(ctx context.Context, req *subscriptionv1.GetPlanRequest) (*subscriptionv1.GetPlanResponse, error) {
	return reply[*subscriptionv1.GetPlanResponse](ctx, f.fakes, req)
}
func (f fakePlans) ListPlans(ctx context.Context, req *subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
	return reply[*subscriptionv1.ListPlansResponse](ctx, f.fakes, req)
}
func (f fakePlans) UpdatePlan(ctx context.Context, req *subscriptionv1.UpdatePlanRequest) (*subscriptionv1.UpdatePlanResponse, error) {
	return reply[*subscriptionv1.UpdatePlanResponse](ctx, f.fakes, req)
}

type fakeSubscriptions struct {
	subscriptionv1.UnimplementedSubscriptionServiceServer
	*fakes
}

func (f fakeSubscriptions) CreateSubscription(ctx context.Context, req *subscriptionv1.CreateSubscriptionRequest) (*subscriptionv1.CreateSubscriptionResponse, error) {
	return reply[*subscriptionv1.CreateSubscriptionResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) GetSubscription(ctx context.Context, req *subscriptionv1.GetSubscriptionRequest) (*subscriptionv1.GetSubscriptionResponse, error) {
	return reply[*subscriptionv1.GetSubscriptionResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) ListSubscriptions(ctx context.Context, req *subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
	return reply[*subscriptionv1.ListSubscriptionsResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) ListAccountEntries(ctx context.Context, req *subscriptionv1.ListAccountEntriesRequest) (*subscriptionv1.ListAccountEntriesResponse, error) {
	return reply[*subscriptionv1.ListAccountEntriesResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) ListPeriods(ctx context.Context, req *subscriptionv1.ListPeriodsRequest) (*subscriptionv1.ListPeriodsResponse, error) {
	return reply[*subscriptionv1.ListPeriodsResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) PauseSubscription(ctx context.Context, req *subscriptionv1.PauseSubscriptionRequest) (*subscriptionv1.PauseSubscriptionResponse, error) {
	return reply[*subscriptionv1.PauseSubscriptionResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) ResumeSubscription(ctx context.Context, req *subscriptionv1.ResumeSubscriptionRequest) (*subscriptionv1.ResumeSubscriptionResponse, error) {
	return reply[*subscriptionv1.ResumeSubscriptionResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) PreviewPlanChange(ctx context.Context, req *subscriptionv1.PreviewPlanChangeRequest) (*subscriptionv1.PreviewPlanChangeResponse, error) {
	return reply[*subscriptionv1.PreviewPlanChangeResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) ChangePlan(ctx context.Context, req *subscriptionv1.ChangePlanRequest) (*subscriptionv1.ChangePlanResponse, error) {
	return reply[*subscriptionv1.ChangePlanResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) WithdrawPlanChange(ctx context.Context, req *subscriptionv1.WithdrawPlanChangeRequest) (*subscriptionv1.WithdrawPlanChangeResponse, error) {
	return reply[*subscriptionv1.WithdrawPlanChangeResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) PreviewCancellation(ctx context.Context, req *subscriptionv1.PreviewCancellationRequest) (*subscriptionv1.PreviewCancellationResponse, error) {
	return reply[*subscriptionv1.PreviewCancellationResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) CancelSubscription(ctx context.Context, req *subscriptionv1.CancelSubscriptionRequest) (*subscriptionv1.CancelSubscriptionResponse, error) {
	return reply[*subscriptionv1.CancelSubscriptionResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) WithdrawCancellation(ctx context.Context, req *subscriptionv1.WithdrawCancellationRequest) (*subscriptionv1.WithdrawCancellationResponse, error) {
	return reply[*subscriptionv1.WithdrawCancellationResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) RecordPayment(ctx context.Context, req *subscriptionv1.RecordPaymentRequest) (*subscriptionv1.RecordPaymentResponse, error) {
	return reply[*subscriptionv1.RecordPaymentResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) RecordPaymentFailure(ctx context.Context, req *subscriptionv1.RecordPaymentFailureRequest) (*subscriptionv1.RecordPaymentFailureResponse, error) {
	return reply[*subscriptionv1.RecordPaymentFailureResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) WaivePayment(ctx context.Context, req *subscriptionv1.WaivePaymentRequest) (*subscriptionv1.WaivePaymentResponse, error) {
	return reply[*subscriptionv1.WaivePaymentResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) RecordRefund(ctx context.Context, req *subscriptionv1.RecordRefundRequest) (*subscriptionv1.RecordRefundResponse, error) {
	return reply[*subscriptionv1.RecordRefundResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) GetSubscriptionSettings(ctx context.Context, req *subscriptionv1.GetSubscriptionSettingsRequest) (*subscriptionv1.GetSubscriptionSettingsResponse, error) {
	return reply[*subscriptionv1.GetSubscriptionSettingsResponse](ctx, f.fakes, req)
}
func (f fakeSubscriptions) UpdateSubscriptionSettings(ctx context.Context, req *subscriptionv1.UpdateSubscriptionSettingsRequest) (*subscriptionv1.UpdateSubscriptionSettingsResponse, error) {
	return reply[*subscriptionv1.UpdateSubscriptionSettingsResponse](ctx, f.fakes, req)
}

type fakeMedia struct {
	mediav1.UnimplementedMediaServiceServer
	*fakes
}

func (f fakeMedia) CreateMediaItem(ctx context.Context, req *mediav1.CreateMediaItemRequest) (*mediav1.CreateMediaItemResponse, error) {
	return reply[*mediav1.CreateMediaItemResponse](ctx, f.fakes, req)
}
func (f fakeMedia) GetMediaItem(ctx context.Context, req *mediav1.GetMediaItemRequest) (*mediav1.GetMediaItemResponse, error) {
	return reply[*mediav1.GetMediaItemResponse](ctx, f.fakes, req)
}
func (f fakeMedia) ListMediaItems(ctx context.Context, req *mediav1.ListMediaItemsRequest) (*mediav1.ListMediaItemsResponse, error) {
	return reply[*mediav1.ListMediaItemsResponse](ctx, f.fakes, req)
}
func (f fakeMedia) UpdateMediaItem(ctx context.Context, req *mediav1.UpdateMediaItemRequest) (*mediav1.UpdateMediaItemResponse, error) {
	return reply[*mediav1.UpdateMediaItemResponse](ctx, f.fakes, req)
}
func (f fakeMedia) DeleteMediaItem(ctx context.Context, req *mediav1.DeleteMediaItemRequest) (*mediav1.DeleteMediaItemResponse, error) {
	return reply[*mediav1.DeleteMediaItemResponse](ctx, f.fakes, req)
}
func (f fakeMedia) CreateUpload(ctx context.Context, req *mediav1.CreateUploadRequest) (*mediav1.CreateUploadResponse, error) {
	return reply[*mediav1.CreateUploadResponse](ctx, f.fakes, req)
}
func (f fakeMedia) GetUpload(ctx context.Context, req *mediav1.GetUploadRequest) (*mediav1.GetUploadResponse, error) {
	return reply[*mediav1.GetUploadResponse](ctx, f.fakes, req)
}
func (f fakeMedia) CompleteUpload(ctx context.Context, req *mediav1.CompleteUploadRequest) (*mediav1.CompleteUploadResponse, error) {
	return reply[*mediav1.CompleteUploadResponse](ctx, f.fakes, req)
}
func (f fakeMedia) CancelUpload(ctx context.Context, req *mediav1.CancelUploadRequest) (*mediav1.CancelUploadResponse, error) {
	return reply[*mediav1.CancelUploadResponse](ctx, f.fakes, req)
}
func (f fakeMedia) CreateCollection(ctx context.Context, req *mediav1.CreateCollectionRequest) (*mediav1.CreateCollectionResponse, error) {
	return reply[*mediav1.CreateCollectionResponse](ctx, f.fakes, req)
}
func (f fakeMedia) GetCollection(ctx context.Context, req *mediav1.GetCollectionRequest) (*mediav1.GetCollectionResponse, error) {
	return reply[*mediav1.GetCollectionResponse](ctx, f.fakes, req)
}
func (f fakeMedia) ListCollections(ctx context.Context, req *mediav1.ListCollectionsRequest) (*mediav1.ListCollectionsResponse, error) {
	return reply[*mediav1.ListCollectionsResponse](ctx, f.fakes, req)
}
func (f fakeMedia) UpdateCollection(ctx context.Context, req *mediav1.UpdateCollectionRequest) (*mediav1.UpdateCollectionResponse, error) {
	return reply[*mediav1.UpdateCollectionResponse](ctx, f.fakes, req)
}
func (f fakeMedia) DeleteCollection(ctx context.Context, req *mediav1.DeleteCollectionRequest) (*mediav1.DeleteCollectionResponse, error) {
	return reply[*mediav1.DeleteCollectionResponse](ctx, f.fakes, req)
}
func (f fakeMedia) CreateEntitlement(ctx context.Context, req *mediav1.CreateEntitlementRequest) (*mediav1.CreateEntitlementResponse, error) {
	return reply[*mediav1.CreateEntitlementResponse](ctx, f.fakes, req)
}
func (f fakeMedia) GetEntitlement(ctx context.Context, req *mediav1.GetEntitlementRequest) (*mediav1.GetEntitlementResponse, error) {
	return reply[*mediav1.GetEntitlementResponse](ctx, f.fakes, req)
}
func (f fakeMedia) ListEntitlements(ctx context.Context, req *mediav1.ListEntitlementsRequest) (*mediav1.ListEntitlementsResponse, error) {
	return reply[*mediav1.ListEntitlementsResponse](ctx, f.fakes, req)
}
func (f fakeMedia) DeleteEntitlement(ctx context.Context, req *mediav1.DeleteEntitlementRequest) (*mediav1.DeleteEntitlementResponse, error) {
	return reply[*mediav1.DeleteEntitlementResponse](ctx, f.fakes, req)
}
func (f fakeMedia) ListCustomerMedia(ctx context.Context, req *mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
	return reply[*mediav1.ListCustomerMediaResponse](ctx, f.fakes, req)
}
func (f fakeMedia) GetCustomerMedia(ctx context.Context, req *mediav1.GetCustomerMediaRequest) (*mediav1.GetCustomerMediaResponse, error) {
	return reply[*mediav1.GetCustomerMediaResponse](ctx, f.fakes, req)
}
func (f fakeMedia) CreatePlaybackLink(ctx context.Context, req *mediav1.CreatePlaybackLinkRequest) (*mediav1.CreatePlaybackLinkResponse, error) {
	return reply[*mediav1.CreatePlaybackLinkResponse](ctx, f.fakes, req)
}
func (f fakeMedia) RecordProgress(ctx context.Context, req *mediav1.RecordProgressRequest) (*mediav1.RecordProgressResponse, error) {
	return reply[*mediav1.RecordProgressResponse](ctx, f.fakes, req)
}
