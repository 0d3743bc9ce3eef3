// SPDX-License-Identifier: GPL-2.0-only
/*
 * where: a plugin for QEMU that counts how often each instruction is executed
 *
 *	-plugin where.so,out=FILE
 *
 * It counts between the marks of insn.c, which are instructions that do nothing. When the
 * emulator ends, FILE has a line "marks N", N being how often BEGIN was executed, and a
 * line "ADDRESS TIMES" for each instruction that was executed in between; those that were
 * translated several times have as many lines.
 *
 * It counts blocks that the emulator translates as a whole. One that a fault cuts short
 * counts as a whole, too: that is seldom.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

int qemu_plugin_version = 3;

/* As in insn.c */
static const unsigned char begin_mark[] = { 0x0f, 0x1f, 0x80, 0x54, 0x57, 0x42, 0x67 };
static const unsigned char end_mark[] = { 0x0f, 0x1f, 0x80, 0x54, 0x57, 0x45, 0x67 };

/*
 * struct block - a translated block
 * @next: another one
 * @times: how often it was executed between marks
 * @n: how many instructions it has
 * @vaddrs: where they are
 */
struct block {
	struct block *next;
	uint64_t times;
	size_t n;
	uint64_t vaddrs[];
};

/* The guest has one CPU, which is one thread of the emulator: nothing here is shared. */
static struct block *blocks;
static bool counting;
static uint64_t marks;
static const char *out;

static void begin(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	counting = true;
	marks++;
}

static void end(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	counting = false;
}

static void execute(unsigned int cpu, void *data)
{
	struct block *block = data;

	(void)cpu;
	block->times += counting;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct block *block = malloc(sizeof(*block) + n * sizeof(block->vaddrs[0]));
	unsigned char code[sizeof(begin_mark)];

	(void)id;
	if (!block)
		abort();
	block->next = blocks;
	block->times = 0;
	block->n = n;
	blocks = block;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		block->vaddrs[i] = qemu_plugin_insn_vaddr(insn);
		if (qemu_plugin_insn_size(insn) != sizeof(code) ||
		    qemu_plugin_insn_data(insn, code, sizeof(code)) != sizeof(code))
			continue;
		if (!memcmp(code, begin_mark, sizeof(code)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begin,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (!memcmp(code, end_mark, sizeof(code)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, end,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, execute, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void write_counts(qemu_plugin_id_t id, void *data)
{
	FILE *f = fopen(out, "w");
	struct block *block;
	size_t i;

	(void)id;
	(void)data;
	if (!f) {
		perror(out);
		return;
	}
	fprintf(f, "marks %" PRIu64 "\n", marks);
	for (block = blocks; block; block = block->next)
		for (i = 0; block->times && i < block->n; i++)
			fprintf(f, "%016" PRIx64 " %" PRIu64 "\n", block->vaddrs[i], block->times);
	fclose(f);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info,
			int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "usage: -plugin where.so,out=FILE\n");
		return -1;
	}
	out = strdup(argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, write_counts, NULL);
	return 0;
}
