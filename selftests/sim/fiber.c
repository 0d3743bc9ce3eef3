// SPDX-License-Identifier: GPL-2.0-only
/* Fibers: stacks that one thread runs on in turn, and what the sanitizers have to know of that. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* What the sanitizers ask for as the program begins. It ends with memory that it has not freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "exitcode=66:halt_on_error=1:report_thread_leaks=0:atexit_sleep_ms=0";
}

#ifdef SIM_TSAN
void sim_ignore_reads(bool begin)
{
	if (begin)
		AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	else
		AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#endif

#define STACK_SIZE	(128U << 10)

struct fiber fibers[MAX_FIBERS], *self;
int nr_fibers;
static void *main_sp;

/* Keep the stack pointer in *@from, and continue where @to was kept. For x86-64 */
__attribute__((__naked__, __noinline__))
static void swap_stacks(void **from, void *to)
{
	__asm__("push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
		"mov %rsp,(%rdi)\n"
		"mov %rsi,%rsp\n"
		"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
		"ret\n");
}

/* Continue with the stack of @to. Returns when somebody switches back. */
static void switch_stack(struct fiber *from, struct fiber *to)
{
	void **sp = from ? &from->sp : &main_sp;
	void *to_sp = to ? to->sp : main_sp;
#ifdef __SANITIZE_ADDRESS__
	static const void *main_bottom;
	static size_t main_size;
	static void *main_fake;
	void **fake = from ? &from->fake : &main_fake;

	__sanitizer_start_switch_fiber(fake, to ? to->stack : main_bottom,
				       to ? STACK_SIZE : main_size);
	swap_stacks(sp, to_sp);
	__sanitizer_finish_switch_fiber(*fake, main_bottom ? NULL : &main_bottom,
					main_bottom ? NULL : &main_size);
#else
	swap_stacks(sp, to_sp);
#endif
}

/* What the library has for each thread: the Makefile makes a section of it. */
extern u32 __start_simtls[], __stop_simtls[];

static size_t tls_size(void)
{
	return (size_t)(__stop_simtls - __start_simtls) * sizeof(u32);
}

static void switch_tls(struct fiber *from, struct fiber *to)
{
	static u32 main_tls[MAX_TLS];
	u32 *old = from ? from->tls : main_tls, *new = to ? to->tls : main_tls;
	size_t i;

	expect(tls_size() <= sizeof(main_tls), SIM_ITSELF, "threads have more words of their own");
	/* By no memcpy(), which the thread sanitizer would look at. */
	for (i = 0; i < tls_size() / sizeof(u32); i++) {
		old[i] = __start_simtls[i];
		__start_simtls[i] = new[i];
	}
}

/* Tell the thread sanitizer. What a CPU has done is before what it does next. */
static void switch_tsan(struct fiber *from, struct fiber *to)
{
#ifdef SIM_TSAN
	static void *main_tsan;
	static bool heap;
	u32 i;

	if (from)
		tsan_release(&cpus[from->cpu]);
	else
		main_tsan = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(to ? to->tsan : main_tsan, 1);
	/* The fiber has not seen these words before: they are somebody else's. */
	if (!heap)
		__tsan_java_init((size_t)__start_simtls, tls_size());
	heap = true;
	__tsan_java_alloc((size_t)__start_simtls, tls_size());
	for (i = 0; i < sim_config.cpus; i++)
		if (!to || to->cpu == (int)i)
			tsan_acquire(&cpus[i]);
#endif
}

void fiber_switch(struct fiber *to)
{
	struct fiber *from = self;

	if (from == to)
		return;
	sim_stats.switches++;
	/* A CPU that goes on with another task has emptied its store buffer. */
	if (to && to->kind == TASK && cpus[to->cpu].last != to) {
		drain_cpu(to->cpu, U64_MAX);
		cpus[to->cpu].last = to;
	}
	switch_tls(from, to);
	self = to;
	switch_tsan(from, to);
	switch_stack(from, to);
}

/* The first that runs on a new stack */
static void fiber_begin(void)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	/* As a new thread does */
	tsan_acquire(self);
	fiber_main();
}

struct fiber *fiber_new(enum fiber_kind kind, void (*function)(void *arg), void *arg, int cpu)
{
	struct fiber *f;
	void **sp;
	int i;

	for (i = 0; i < nr_fibers && (fibers[i].used || fibers[i].kind != TASK); i++)
		;
	expect(i < MAX_FIBERS, SIM_ITSELF, "there are too many tasks");
	f = &fibers[i];
#ifdef SIM_TSAN
	/*
	 * Whom main makes comes after all that tasks have done, who had it before among them. A
	 * task is not to be ordered after that one.
	 */
	if (f->tsan && self) {
		__tsan_destroy_fiber(f->tsan);
		f->tsan = NULL;
		/* It forgets what the memory was. */
		sim_ignore_reads(true);
		free(f->stack);
		f->stack = aligned_alloc(4096, STACK_SIZE);
		sim_ignore_reads(false);
	}
	f->tsan = f->tsan ?: __tsan_create_fiber(0);
	tsan_release(f);
#endif
	if (i == nr_fibers)
		nr_fibers++;
	if (!f->stack)
		f->stack = aligned_alloc(4096, STACK_SIZE);
#ifdef __SANITIZE_ADDRESS__
	__asan_unpoison_memory_region(f->stack, STACK_SIZE);
#endif
	*f = (struct fiber) {
		.stack		= f->stack,
		.tsan		= f->tsan,
		.kind		= kind,
		.cpu		= cpu,
		.used		= true,
		.active		= kind == TASK,
		.function	= function,
		.arg		= arg,
	};
	/* Six registers, and where to return to; the stack is then as after a call. */
	sp = (void **)(f->stack + STACK_SIZE) - 8;
	memset(sp, 0, 64);
	sp[6] = (void *)fiber_begin;
	f->sp = sp;
	return f;
}
