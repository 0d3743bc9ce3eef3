// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The file that twheel save writes and twheel load reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "names.h"
#include "number.h"
#include "root.h"
#include "saved.h"

/* The first words of a file, with the version of its format. */
#define MAGIC	"twheel-timers 1"

static const uint32_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, TWHEEL_CLOCK_REALTIME };

/**
 * struct sum - the checksum of what has been written or read: that of cksum(1)
 * @crc: of the bytes
 * @len: how many there were
 */
struct sum {
	uint32_t	crc;
	uint64_t	len;
};

static void sum_byte(struct sum *sum, unsigned char byte)
{
	int bit;

	sum->crc ^= (uint32_t)byte << 24;
	for (bit = 0; bit < 8; bit++)
		sum->crc = sum->crc << 1 ^ (sum->crc >> 31) * 0x04c11db7;
}

static void sum_up(struct sum *sum, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum_byte(sum, (unsigned char)text[i]);
	sum->len += len;
}

static uint32_t sum_end(const struct sum *sum)
{
	struct sum whole = *sum;
	uint64_t len;

	for (len = sum->len; len; len >>= 8)
		sum_byte(&whole, (unsigned char)len);
	return ~whole.crc;
}

int saved_grow(struct saved *saved, size_t more)
{
	size_t room = saved->room ? saved->room : 256;
	struct twheel_timer_info *timers;

	while (room - saved->n < more)
		room *= 2;
	if (room == saved->room)
		return 0;
	timers = reallocarray(saved->timers, room, sizeof(*timers));
	if (!timers)
		return -ENOMEM;
	saved->timers = timers;
	saved->room = room;
	return 0;
}

void saved_free(struct saved *saved)
{
	free(saved->timers);
	saved->timers = NULL;
	saved->n = 0;
	saved->room = 0;
}

void saved_boot(char boot[BOOT_SIZE])
{
	root_line("/proc/sys/kernel/random/boot_id", boot, BOOT_SIZE);
}

/*
 * Names and bits
 */

/* Name the bits in @text. Returns whether all have names. */
static bool name_bits(const struct bit_name *names, uint32_t bits, char *text, size_t size)
{
	size_t len = 0;

	snprintf(text, size, "-");
	for (; names->bit; names++) {
		if (!(bits & names->bit))
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "," : "",
					names->name);
		bits &= ~(uint32_t)names->bit;
	}
	return !bits;
}

/* The other way round. Returns the first word that is no name, or comes again, or NULL. */
static const char *bits_named(const struct bit_name *names, char *text, uint32_t *bits)
{
	char *word;
	int i;

	*bits = 0;
	if (!strcmp(text, "-"))
		return NULL;
	while ((word = strsep(&text, ","))) {
		for (i = 0; names[i].bit && strcmp(word, names[i].name); i++)
			;
		if (!names[i].bit || *bits & (uint32_t)names[i].bit)
			return word;
		*bits |= (uint32_t)names[i].bit;
	}
	return NULL;
}

/*
 * Writing
 */

/* Print into @file and add that to @sum. */
__attribute__((format(printf, 3, 4)))
static void put(FILE *file, struct sum *sum, const char *format, ...)
{
	char line[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	sum_up(sum, line, (size_t)len);
	fwrite(line, 1, (size_t)len, file);
}

static int write_all(const struct saved *saved, FILE *file)
{
	struct sum sum = { };
	char names[128];
	size_t i;

	if (!name_bits(config_names, saved->config, names, sizeof(names)))
		return -EOPNOTSUPP;
	put(file, &sum, MAGIC " clock=%s config=%s boot=%s timers=%zu\n", clock_name(saved->clock),
	    names, *saved->boot ? saved->boot : "-", saved->n);
	for (i = 0; i < saved->n; i++) {
		const struct twheel_timer_info *timer = &saved->timers[i];

		if (!name_bits(timer_names, timer->flags, names, sizeof(names)))
			return -EOPNOTSUPP;
		put(file, &sum, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %"
		    PRIu32 " %s\n", (uint64_t)timer->handle, (uint64_t)timer->user_data,
		    (uint64_t)timer->deadline, (uint64_t)timer->interval,
		    (uint64_t)timer->slack, timer->count, names);
	}
	fprintf(file, "end %" PRIu32 "\n", sum_end(&sum));
	/* The name of the file comes to stand for this only once it is on the disk. */
	return fflush(file) || ferror(file) || fsync(fileno(file)) ? -errno : 0;
}

enum tool_exit saved_check(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return tool_complain(TOOL_FAILED,
				     "save: %s: it is no regular file, and is not replaced", path);
	return TOOL_OK;
}

/* Have the names in a folder on the disk, if its file system can do that. */
static int sync_folder(int folder)
{
	return fsync(folder) && errno != EINVAL ? -errno : 0;
}

int saved_write(const struct saved *saved, const char *path)
{
	char fresh[PATH_MAX];
	int folder;
	FILE *file;
	int ret;
	int fd;

	if (snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	folder = open(dirname(fresh), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	/* dirname() has cut it. */
	snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path);
	fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		close(folder);
		return ret;
	}
	file = fdopen(fd, "w");
	if (!file) {
		ret = -errno;
		close(fd);
	} else {
		ret = write_all(saved, file);
		if (fclose(file) && !ret)
			ret = -errno;
	}
	if (!ret && rename(fresh, path))
		ret = -errno;
	if (ret)
		unlink(fresh);
	else
		ret = sync_folder(folder);
	close(folder);
	return ret;
}

/*
 * Reading
 */

/* What is wrong with the file that is read, and where. */
__attribute__((format(printf, 3, 4)))
static enum tool_exit wrong(const char *path, size_t line, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return tool_complain(TOOL_FAILED, "load: %s, line %zu: %s", path, line, text);
}

static enum tool_exit read_head(struct saved *saved, const char *path, char *line, size_t *n)
{
	char clock[16], config[128], timers[24], end;
	const char *word;
	uint64_t count;
	size_t i;

	if (strncmp(line, MAGIC, strlen(MAGIC)))
		return wrong(path, 1, "it does not begin with '" MAGIC "'");
	if (sscanf(line, MAGIC " clock=%15s config=%127s boot=%39s timers=%23[0-9]%c", clock,
		   config, saved->boot, timers, &end) != 5 || end != '\n' ||
	    number_parse(timers, SIZE_MAX, &count))
		return wrong(path, 1, "no clock=, config=, boot= and timers=");
	*n = (size_t)count;
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (!strcmp(clock, clock_name(clocks[i])))
			saved->clock = clocks[i];
	if (!saved->clock)
		return wrong(path, 1, "'%s' is no clock", clock);
	word = bits_named(config_names, config, &saved->config);
	if (word)
		return wrong(path, 1, "config=: '%.40s' is no known setting, or comes again",
			     word);
	return TOOL_OK;
}

static enum tool_exit read_timer(struct saved *saved, const char *path, size_t number, char *line)
{
	struct twheel_timer_info timer = { };
	static const char blanks[] = { ' ', '\n', '\0' };
	char *word[7], *rest = NULL;
	const char *flag;
	uint64_t value[6];
	uint32_t flags;
	size_t n = 0;
	size_t i;
	static const struct {
		const char	*name;
		uint64_t	most;
	} fields[] = {
		{ "a handle or key",	UINT64_MAX },
		{ "user data",		UINT64_MAX },
		{ "a deadline",		INT64_MAX },
		{ "an interval",	INT64_MAX },
		{ "slack",		INT64_MAX },
		{ "a count",		UINT32_MAX },
	};

	while (n < 7 && (word[n] = strtok_r(n ? NULL : line, blanks, &rest)))
		n++;
	if (n != 7 || *rest)
		return wrong(path, number, "%s, and a timer has seven fields",
			     n != 7 ? "something is missing" : "there is more");
	for (i = 0; i < 6; i++)
		if (number_parse(word[i], fields[i].most, &value[i]))
			return wrong(path, number, "'%.40s' is not %s", word[i], fields[i].name);
	flag = bits_named(timer_names, word[6], &flags);
	if (flag)
		return wrong(path, number, "'%.40s' is no flag of a timer, or comes again", flag);
	timer.handle = value[0];
	timer.user_data = value[1];
	timer.deadline = value[2];
	timer.interval = value[3];
	timer.slack = value[4];
	timer.count = (uint32_t)value[5];
	timer.flags = (uint16_t)flags;
	if (saved_grow(saved, 1))
		return tool_complain(TOOL_FAILED, "load: %s: %s", path, strerror(ENOMEM));
	saved->timers[saved->n++] = timer;
	return TOOL_OK;
}

static enum tool_exit read_all(struct saved *saved, const char *path, FILE *file)
{
	enum tool_exit code = TOOL_OK;
	struct sum sum = { };
	size_t number = 0;
	size_t n = 0;
	/* What is longer is no line of such a file, and may have no end. */
	char line[256];

	while (code == TOOL_OK && fgets(line, sizeof(line), file)) {
		number++;
		if (number > 1 && !strncmp(line, "end", 3)) {
			char end[32];

			snprintf(end, sizeof(end), "end %" PRIu32 "\n", sum_end(&sum));
			if (strcmp(line, end))
				return wrong(path, number, "not the checksum of the lines before");
			if (saved->n != n)
				return wrong(path, number, "%zu timers, and line 1 says %zu",
					     saved->n, n);
			if (getc(file) != EOF)
				return wrong(path, number + 1, "there is more after the end");
			return TOOL_OK;
		}
		sum_up(&sum, line, strlen(line));
		code = number == 1 ? read_head(saved, path, line, &n) :
				     read_timer(saved, path, number, line);
	}
	if (code != TOOL_OK)
		return code;
	if (ferror(file))
		return tool_complain(TOOL_FAILED, "load: %s: %s", path, strerror(errno));
	return wrong(path, number + 1, "the file ends too soon: there is no line 'end'");
}

enum tool_exit saved_read(struct saved *saved, const char *path)
{
	FILE *file = fopen(path, "re");
	enum tool_exit code;

	*saved = (struct saved){ };
	if (!file)
		return tool_complain(TOOL_FAILED, "load: %s: %s", path, strerror(errno));
	code = read_all(saved, path, file);
	fclose(file);
	if (code)
		saved_free(saved);
	return code;
}
