#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const usage = `duly ${version}

Usage:
  duly --version   print the version
  duly --help      print this help`;

const [argument] = process.argv.slice(2);
if (argument === '--version' || argument === '-v') console.log(version);
else if (argument === undefined || argument === '--help' || argument === '-h') console.log(usage);
else {
  console.error(`Unknown argument "${argument}".\n\n${usage}`);
  process.exitCode = 2;
}
