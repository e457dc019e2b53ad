import { listBounds } from '../list-bounds.ts';

listBounds('sqlite', () => 'sqlite::memory:');
