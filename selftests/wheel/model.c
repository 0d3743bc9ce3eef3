// SPDX-License-Identifier: GPL-2.0-only
/* The oracle: finds out what a wheel has to do by looking at every node. */
#include "model.h"

#define CHUNK_MAX	256

/* Removes the lowest @bits of @op and returns them. */
static u32 take(u64 *op, u32 bits)
{
	u32 value = (u32)(*op & ((1ULL << bits) - 1));

	*op >>= bits;
	return value;
}

static u64 clamped(u64 a, u64 b)
{
	return a + b < a || a + b > TICK_MAX ? TICK_MAX : a + b;
}

void model_init(struct model *m, u32 slots, u32 n, u64 clk, u32 check_every)
{
	*m = (struct model) {
		.w		= wheel_new(slots, all_levels(slots), clk),
		.items		= calloc(n, sizeof(*m->items)),
		.n		= n,
		.clk		= clk,
		.exact		= true,
		.check_every	= check_every,
	};
	m->last = calloc(nr_buckets(m->w) + 1, sizeof(*m->last));
	if (!m->items || !m->last)
		abort();
}

/* All nodes of @queue were enqueued, and one after another. Returns how many there are. */
static u32 queue_agrees(const struct list_head *queue)
{
	const struct list_head *entry;
	u64 last = 0;
	u32 n = 0;

	for (entry = queue->next; entry != queue; entry = entry->next) {
		const struct model_item *item =
			container_of(entry, struct model_item, node.entry);

		expect(item->queued, "a node is in a queue that is not there");
		expect(item->nr > last, "%llu is behind %llu", item->nr, last);
		last = item->nr;
		n++;
	}
	return n;
}

static void queues_agree(const struct model *m)
{
	const struct twheel_wheel *w = m->w;
	u32 i, n = 0;

	for (i = 0; i < nr_buckets(w); i++)
		n += queue_agrees(&w->buckets[i]);
	for (i = 0; i < nr_rows(w); i++)
		n += queue_agrees(&w->rows[i].visit);
	expect(n == m->nr_queued, "%u nodes in queues, not %u", n, m->nr_queued);
}

/* Checks everything that has to hold between two operations. */
static void agree(const struct model *m)
{
	const struct twheel_wheel *w = m->w;
	u32 i;

	expect_sound(w);
	queues_agree(m);
	for (i = 0; i < m->n; i++) {
		const struct model_item *item = &m->items[i];

		if (!item->queued)
			continue;
		expect(item->node.expires == item->expires, "item %u: %llu changed to %llu",
		       i, item->expires, item->node.expires);
		/*
		 * If a collection is half done there is something to do at once, otherwise
		 * by item->must.
		 */
		expect(w->next_expiry <= (m->partial ? m->clk : item->must),
		       "next_expiry=%llu is after %llu", w->next_expiry, item->must);
	}
}

/* Puts @item into the wheel, and notes where it is: it has to be the last one of its queue. */
static void put(struct model *m, struct model_item *item)
{
	const struct twheel_wheel *w = m->w;
	const struct list_head *queue;

	item->nr = ++m->nr;
	twheel_wheel_enqueue(m->w, &item->node);
	queue = item->node.entry.next;
	item->queue = nr_buckets(w);
	if (queue != &w->rows[0].visit)
		item->queue = (u32)(queue - w->buckets);
	expect(item->queue <= nr_buckets(w), "not the last one");
}

static void enqueue(struct model *m, struct model_item *item, u64 expires)
{
	item->expires = expires;
	item->must = expires > m->clk ? expires : m->clk;
	item->queued = true;
	m->nr_queued++;
	item->node.expires = expires;
	put(m, item);
}

static void dequeue(struct model *m, struct model_item *item)
{
	u64 next = m->w->next_expiry;

	twheel_wheel_dequeue(m->w, &item->node);
	expect(m->w->next_expiry == next, "next_expiry changed");
	item->queued = false;
	m->nr_queued--;
	m->exact = false;
}

/* The clock has gone back to @now: nodes that were overdue may not be so any more. */
static void turned_back(struct model *m, u64 now)
{
	u32 i;

	m->clk = now;
	for (i = 0; i < m->n; i++) {
		struct model_item *item = &m->items[i];

		item->must = item->expires > now ? item->expires : now;
	}
}

/* @node was taken, so it must have been in the wheel. It is due, or goes back. */
static void look(struct model *m, struct twheel_node *node)
{
	struct model_item *item = container_of(node, struct model_item, node);

	expect(item->queued, "a node came that is not there");
	expect(item->nr > m->last[item->queue], "queue %u: %llu came after %llu", item->queue,
	       item->nr, m->last[item->queue]);
	m->last[item->queue] = item->nr;
	if (node->expires > m->clk) {
		put(m, item);
		return;
	}
	/* It comes at its own tick, so that all come in order, or at once if it was overdue. */
	expect(item->must == m->clk, "%llu (%llu) came at %llu", item->expires,
	       item->must, m->clk);
	item->queued = false;
	m->nr_queued--;
}

/* Looks at up to @size nodes. Returns whether there are more. */
static bool collect(struct model *m, u64 now, u32 size)
{
	struct twheel_node *nodes[CHUNK_MAX];
	u32 seen = 0, n, i;

	if (now < m->clk)
		turned_back(m, now);
	do {
		n = twheel_wheel_take(m->w, now, nodes, size - seen);
		expect(n <= size - seen, "%u came into %u", n, size - seen);
		expect(m->w->clk >= m->clk && m->w->clk <= now, "from %llu to %llu at %llu",
		       m->clk, m->w->clk, now);
		m->clk = m->w->clk;
		expect(!n || m->w->next_expiry == m->clk, "next_expiry=%llu clk=%llu",
		       m->w->next_expiry, m->clk);
		for (i = 0; i < n; i++)
			look(m, nodes[i]);
		seen += n;
	} while (n && seen < size);

	/* If the call had no room left there may be more nodes or not. */
	if (size && !n)
		expect(m->w->next_expiry > m->clk, "next_expiry=%llu clk=%llu",
		       m->w->next_expiry, m->clk);
	m->partial = m->w->next_expiry <= m->clk;
	m->exact = !m->partial;
	if (m->partial)
		return true;

	/* The collection is complete, so all nodes that had to come have come. */
	expect(m->clk == now, "clk=%llu, not %llu", m->clk, now);
	for (i = 0; i < m->n; i++)
		expect(!m->items[i].queued || m->items[i].must > m->clk,
		       "%llu (%llu) has not come by %llu", m->items[i].expires,
		       m->items[i].must, m->clk);
	expect((m->w->next_expiry == TWHEEL_NEVER) == !m->nr_queued ||
	       m->clk >= TICK_MAX, "next_expiry=%llu, %u nodes", m->w->next_expiry,
	       m->nr_queued);
	return false;
}

/*
 * Collects until nothing is left. No node is looked at more often than once a level and two
 * times more.
 */
static void collect_all(struct model *m, u64 now, u32 size)
{
	u64 looks = 0, most = (m->w->levels + 2) * (u64)m->nr_queued + size;

	while (collect(m, now, size)) {
		looks += size;
		expect(looks <= most, "%llu looks at %llu nodes", looks, most / 2);
	}
}

/* Returns a length of time, from a tick to half of all time. */
static u64 span(struct model *m, u64 *op)
{
	u32 how = take(op, 3), shift = take(op, 6), low = take(op, 16);

	switch (how) {
	case 0:
		/* Any magnitude. */
		return ((0x10000ULL | low) << shift) >> 17;
	case 1:
		/* Near a power of two. */
		return (1ULL << shift) - 2 + low % 5;
	case 2:
	case 3:
		/* Within a few rounds of a wheel with one level. */
		return low % (4 * m->w->slots);
	case 4:
		return low % 4;
	default:
		/* A medium magnitude. */
		return ((0x10000ULL | low) << shift % 24) >> 17;
	}
}

/* Returns a tick for a node. */
static u64 tick(struct model *m, u64 *op)
{
	u32 how = take(op, 4);
	u64 d = span(m, op);

	switch (how) {
	case 0:
		/* Overdue. */
		return d < m->clk ? m->clk - d : 0;
	case 1:
	case 2:
		/* The tick of another node. */
		return m->items[d % m->n].expires;
	case 3:
		/* The first tick of a bucket. */
		d = clamped(m->clk, d);
		return d & ~0ULL << (d >> 3) % 40;
	case 4:
		return TICK_MAX - d % 1000;
	default:
		return clamped(m->clk, d);
	}
}

/* Returns how far the clock goes. Huge steps are rare, or it would soon reach the end of time. */
static u64 step(struct model *m, u64 *op)
{
	bool far = !take(op, 6);
	u64 d = span(m, op);

	if (!far && d > 1ULL << 24)
		d &= (1ULL << 24) - 1;
	return d;
}

static u64 later(struct model *m, u64 *op)
{
	return clamped(m->clk, step(m, op));
}

static u64 earlier(struct model *m, u64 *op)
{
	return m->clk - min_t(u64, m->clk, step(m, op));
}

static void forward(struct model *m, u64 now)
{
	u64 next = m->w->next_expiry;

	if (now > m->clk && now < next)
		m->clk = now;
	twheel_wheel_forward(m->w, now);
	expect(m->w->next_expiry == next, "next_expiry changed");
}

/*
 * Turns the clock back, and looks at no node. If nodes were removed, a half-done collection
 * may be complete by that.
 */
static void rewind_to(struct model *m, u64 now)
{
	bool partial = m->partial;

	twheel_wheel_rewind(m->w, now);
	turned_back(m, now);
	m->partial = m->w->next_expiry <= now;
	m->exact = !partial && !m->partial;
}

/* Goes to the next wake-up, and not a tick further. */
static void wake_up(struct model *m)
{
	u64 next = m->w->next_expiry;
	bool exact = m->exact;

	if (next == TWHEEL_NEVER || next <= m->clk)
		return;
	if (exact)
		expect(!collect(m, next - 1, 0), "something to do before next_expiry");
	if (collect(m, next, 0))
		return;
	expect(!exact, "nothing to do at next_expiry");
}

bool model_step(struct model *m, u64 op)
{
	u32 what = take(&op, 4), size = take(&op, 8);
	struct model_item *item = &m->items[take(&op, 16) % m->n];

	switch (what) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		if (item->queued)
			dequeue(m, item);
		enqueue(m, item, tick(m, &op));
		break;
	case 5:
	case 6:
		if (item->queued)
			dequeue(m, item);
		break;
	case 7:
	case 8:
		/* Re-arm the node in place, for a later tick. */
		if (!item->queued)
			break;
		item->expires = clamped(item->expires, span(m, &op));
		if (item->must < item->expires)
			item->must = item->expires;
		item->node.expires = item->expires;
		break;
	case 9:
		if (size & 64)
			rewind_to(m, earlier(m, &op));
		else
			forward(m, take(&op, 4) ? later(m, &op) :
				m->w->next_expiry - size % 4);
		break;
	case 10:
	case 11:
		collect_all(m, later(m, &op), size % 8 ? CHUNK_MAX : 1 + size);
		break;
	case 12:
		/* Collect at a time that has passed, or now. */
		collect_all(m, size & 64 ? earlier(m, &op) :
			    m->clk - min_t(u64, m->clk, size % 4), 1 + size % 8);
		break;
	case 13:
		collect(m, size & 64 ? earlier(m, &op) : later(m, &op), size % 16);
		break;
	case 14:
		/* Go on with a collection that is half done. */
		if (m->partial)
			collect(m, m->clk, size % 16);
		break;
	case 15:
		wake_up(m);
		break;
	}

	expect(m->w->clk == m->clk, "clk=%llu, not %llu", m->w->clk, m->clk);
	expect(m->w->nr_nodes == m->nr_queued, "%llu nodes, not %u", m->w->nr_nodes,
	       m->nr_queued);
	if (!(++m->steps % m->check_every))
		agree(m);
	return m->clk < TICK_MAX - 8;
}

void model_end(struct model *m)
{
	agree(m);
	collect_all(m, TICK_MAX, 1 + (u32)(m->steps % CHUNK_MAX));
	expect(!m->w->nr_nodes, "%llu nodes left", m->w->nr_nodes);
	agree(m);
	wheel_free(m->w);
	free(m->last);
	free(m->items);
}
