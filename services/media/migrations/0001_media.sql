-- +goose Up

-- A copy of the auth service's companies, kept up to date by its events.
create table companies (
    company_id           uuid primary key,
    timezone             text not null,
    currency             text not null,
    clock_offset_seconds bigint not null default 0,
    version              bigint not null
);

-- Customers for whom the service has acted, and customers that it knows to be deleted. A commit that acts
-- for a customer locks the customer's row.
create table customers (
    company_id uuid not null,
    id         uuid not null,
    deleted_at timestamptz,
    primary key (company_id, id)
);

-- The number of rows of each company, kept in the commits that add and delete them. A new upload locks
-- its company's row, so that uploads are counted one after the other.
create table media_totals (
    company_id   uuid primary key,
    items        bigint not null default 0 constraint media_totals_items check (items >= 0),
    collections  bigint not null default 0 constraint media_totals_collections check (collections >= 0),
    entitlements bigint not null default 0 constraint media_totals_entitlements check (entitlements >= 0)
);

create table media_items (
    company_id       uuid not null,
    id               uuid not null,
    title            text not null,
    description      text not null,
    kind             text not null constraint media_items_kind check (kind in ('video', 'audio', 'document', 'image')),
    duration_seconds integer not null constraint media_items_duration check (duration_seconds between 0 and 86400),
    tags             text[] not null,
    status           text not null constraint media_items_status check (status in ('draft', 'published')),
    reference        text, -- in another system
    file_id          uuid,
    cover_id         uuid,
    version          bigint not null default 1,
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    primary key (company_id, id),
    constraint media_items_published check (status = 'draft' or file_id is not null)
);

-- The complete files of items. The id is the last part of the object's name in the bucket.
create table media_files (
    company_id   uuid not null,
    id           uuid not null,
    item_id      uuid not null,
    name         text not null,
    content_type text not null,
    size         bigint not null constraint media_files_size check (size > 0),
    sha256       text not null constraint media_files_sha256 check (length(sha256) = 64),
    uploaded_at  timestamptz not null,
    primary key (company_id, id)
);

alter table media_items
    add constraint media_items_file foreign key (company_id, file_id) references media_files (company_id, id),
    add constraint media_items_cover foreign key (company_id, cover_id) references media_files (company_id, id);

create unique index media_items_reference on media_items (company_id, reference) where reference is not null;
create index media_items_created on media_items (company_id, created_at, id);
create index media_items_updated on media_items (company_id, updated_at, id);

create table collections (
    company_id  uuid not null,
    id          uuid not null,
    title       text not null,
    description text not null,
    version     bigint not null default 1,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    primary key (company_id, id)
);

create index collections_created on collections (company_id, created_at, id);
create index collections_updated on collections (company_id, updated_at, id);

create table collection_items (
    company_id    uuid not null,
    collection_id uuid not null,
    item_id       uuid not null,
    primary key (company_id, collection_id, item_id),
    constraint collection_items_collection foreign key (company_id, collection_id) references collections (company_id, id),
    constraint collection_items_item foreign key (company_id, item_id) references media_items (company_id, id)
);

create index collection_items_of_item on collection_items (company_id, item_id, collection_id);

-- Each row lets customers play one collection or item: holders of a pass type, subscribers to a plan,
-- customers who booked an event, or one customer.
create table entitlements (
    company_id    uuid not null,
    id            uuid not null,
    collection_id uuid,
    item_id       uuid,
    pass_type_id  uuid,
    plan_id       uuid,
    event_id      uuid,
    customer_id   uuid,
    last_day      date,
    created_at    timestamptz not null,
    primary key (company_id, id),
    constraint entitlements_collection foreign key (company_id, collection_id) references collections (company_id, id),
    constraint entitlements_item foreign key (company_id, item_id) references media_items (company_id, id),
    constraint entitlements_to check (num_nonnulls(collection_id, item_id) = 1),
    constraint entitlements_who check (num_nonnulls(pass_type_id, plan_id, event_id, customer_id) = 1)
);

create unique index entitlements_same on entitlements
    (company_id, collection_id, item_id, pass_type_id, plan_id, event_id, customer_id, last_day) nulls not distinct;
create index entitlements_created on entitlements (company_id, created_at, id);
create index entitlements_of_item on entitlements (company_id, item_id, id) where item_id is not null;
create index entitlements_of_collection on entitlements (company_id, collection_id, id) where collection_id is not null;
-- A request to play reads the entitlements that are not given to single customers along these.
create index entitlements_shared_of_item on entitlements (company_id, item_id) where customer_id is null and item_id is not null;
create index entitlements_shared_of_collection on entitlements (company_id, collection_id) where customer_id is null and collection_id is not null;
create index entitlements_of_customer on entitlements (company_id, customer_id, id) where customer_id is not null;

-- How far customers have watched items.
create table progress (
    company_id       uuid not null,
    customer_id      uuid not null,
    item_id          uuid not null,
    position_seconds integer not null constraint progress_position check (position_seconds between 0 and 86400),
    completed        boolean not null,
    updated_at       timestamptz not null,
    primary key (company_id, customer_id, item_id),
    constraint progress_item foreign key (company_id, item_id) references media_items (company_id, id)
);

create index progress_of_item on progress (company_id, item_id);

-- Uploads and their times are real ones, also in test mode.
create table uploads (
    company_id   uuid not null,
    id           uuid not null,
    item_id      uuid not null,
    purpose      text not null constraint uploads_purpose check (purpose in ('file', 'cover')),
    status       text not null constraint uploads_status check (status in ('open', 'completing', 'complete', 'failed')),
    file_name    text not null,
    content_type text not null,
    size         bigint not null constraint uploads_size check (size > 0),
    sha256       text not null, -- empty: not declared
    part_size    bigint not null constraint uploads_part_size check (part_size > 0),
    reason       text not null default '', -- of a failed upload
    error        text not null default '',
    object_id    uuid, -- the object that the parts are being joined into
    lease        uuid, -- of the process that joins the parts
    leased_until timestamptz,
    expires_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (company_id, id),
    constraint uploads_item foreign key (company_id, item_id) references media_items (company_id, id),
    constraint uploads_failed check ((status = 'failed') = (reason <> ''))
);

create index uploads_of_item on uploads (company_id, item_id);
create index uploads_open on uploads (company_id, expires_at) where status = 'open';
create index uploads_expired on uploads (expires_at) where status = 'open';
create index uploads_completing on uploads (leased_until nulls first) where status = 'completing';
create index uploads_ended on uploads (updated_at) where status in ('complete', 'failed');

create table upload_parts (
    company_id uuid not null,
    upload_id  uuid not null,
    number     integer not null constraint upload_parts_number check (number > 0),
    object_id  uuid not null,
    size       bigint not null constraint upload_parts_size check (size > 0),
    sha256     text not null constraint upload_parts_sha256 check (length(sha256) = 64),
    primary key (company_id, upload_id, number),
    constraint upload_parts_upload foreign key (company_id, upload_id) references uploads (company_id, id)
);

create unique index upload_parts_object on upload_parts (company_id, object_id);
create unique index uploads_object on uploads (company_id, object_id) where object_id is not null;

-- Objects in the bucket to remove: those that rows named before, and those that no row has named. The
-- commit that removes the last name of an object adds its row here.
create table removed_objects (
    company_id   uuid not null,
    key          text not null, -- the object's name in the bucket
    object_id    uuid, -- the last part of the key; null if it is not an identifier
    due_at       timestamptz not null,
    lease        uuid,
    leased_until timestamptz,
    primary key (company_id, key)
);

create index removed_objects_due on removed_objects (due_at);

select tenant_table('companies');
select tenant_table('customers');
select tenant_table('media_totals');
select tenant_table('media_items');
select tenant_table('media_files');
select tenant_table('collections');
select tenant_table('collection_items');
select tenant_table('entitlements');
select tenant_table('progress');
select tenant_table('uploads');
select tenant_table('upload_parts');
select tenant_table('removed_objects');
